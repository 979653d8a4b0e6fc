"""From a profile to shapes: merged counts, one phase each, only what NCCL carries between nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.model.profile import Collective, Profile, Stage
from fabricdoc.serving import Served, captured_shapes, decode_stages, derive_profile, shapes_for
from fabricdoc.serving.reading import totals
from tests.unit.serving.models import config

pytestmark = pytest.mark.unit


def _one(**changes: Any) -> Collective:
    fields = {"role": "r", "op": "all_reduce", "count": 1, "size": 8, "send_bytes": 8}
    return Collective(**(fields | changes))


def _profile(decode: tuple[Collective, ...] = (), prefill: tuple[Collective, ...] = ()) -> Profile:
    stages = {name: Stage(rows=1, collectives=some, totals=totals(some))
              for name, some in (("decode", decode), ("prefill", prefill))}  # fmt: skip
    return Profile(name="p", summary="s", source="t", **stages)


def test_equal_shapes_are_merged_and_their_counts_added() -> None:
    (shape,) = shapes_for(_profile(decode=(_one(count=2), _one(role="other", count=3))))
    assert (shape.op, shape.size, shape.dtype, shape.phase, shape.count) == ("all_reduce", 8, "bfloat16", "decode", 5)


def test_int8_is_timed_as_bfloat16_of_the_same_bytes() -> None:
    (shape,) = shapes_for(_profile(decode=(_one(dtype="int8", count=2), _one())))
    assert (shape.dtype, shape.size, shape.count) == ("bfloat16", 8, 3)


def test_float32_stays_its_own_shape() -> None:
    assert [shape.dtype for shape in shapes_for(_profile(decode=(_one(), _one(dtype="float32"))))] == [
        "bfloat16", "float32",
    ]  # fmt: skip


def test_a_size_of_both_phases_comes_once_for_each() -> None:
    shapes = shapes_for(_profile(decode=(_one(count=4),), prefill=(_one(count=2),)))
    assert [(shape.phase, shape.count) for shape in shapes] == [("decode", 4), ("prefill", 2)]


@pytest.mark.parametrize("changes", [{"spans_nodes": False}, {"bypass": "rocenante"}, {"bypass": "nvshmem"}])
def test_what_nccl_does_not_carry_between_nodes_is_not_timed(changes: dict[str, Any]) -> None:
    assert shapes_for(_profile(decode=(_one(**changes), _one(size=16, send_bytes=16)))) == shapes_for(
        _profile(decode=(_one(size=16, send_bytes=16),))
    )


collectives = st.lists(
    st.builds(
        _one, op=st.sampled_from(["all_reduce", "all_gather"]), count=st.integers(1, 50), size=st.integers(1, 9),
        dtype=st.sampled_from(["bfloat16", "float32", "int8"]), spans_nodes=st.booleans(),
    ), max_size=12,
).map(tuple)  # fmt: skip


@pytest.mark.long
@settings(deadline=None)
@given(decode=collectives, prefill=collectives)
def test_no_shape_comes_twice_and_no_call_is_lost(
    decode: tuple[Collective, ...], prefill: tuple[Collective, ...]
) -> None:
    shapes = shapes_for(_profile(decode, prefill))
    assert len({(shape.op, shape.size, shape.dtype, shape.phase) for shape in shapes}) == len(shapes)
    for phase, sent in (("decode", decode), ("prefill", prefill)):
        counted = sum(shape.count for shape in shapes if shape.phase == phase)
        assert counted == sum(one.count for one in sent if one.spans_nodes)


def test_every_captured_batch_is_a_decode_stage_once() -> None:
    profile = derive_profile(config(), Served(tp=2, batch=3, max_num_seqs=8))
    assert [stage.rows for stage in decode_stages(profile)] == [1, 2, 4, 8]
    assert decode_stages(profile)[2] == profile.decode  # batch 3 runs in the graph of 4: its own logits
    assert decode_stages(derive_profile(config(), Served(tp=2))) == (derive_profile(config(), Served(tp=2)).decode,)


def test_other_sizes_of_captured_batches_are_timed_outside_any_phase() -> None:
    profile = derive_profile(config(), Served(tp=2, max_num_seqs=4))
    found = captured_shapes(profile)
    assert [(shape.op, shape.size) for shape in found] == [
        ("all_gather", 2 * 64000), ("all_gather", 4 * 64000), ("all_reduce", 2 * 2048), ("all_reduce", 4 * 2048),
    ]  # fmt: skip
    assert {(shape.phase, shape.count) for shape in found} == {("grid", 0.0)}
    assert captured_shapes(derive_profile(config(), Served(tp=2))) == ()
    inside = derive_profile(config(), Served(tp=2, max_num_seqs=4, gpus_per_node=2))
    assert captured_shapes(inside) == ()
