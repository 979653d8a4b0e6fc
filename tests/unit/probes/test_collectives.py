"""Buffers and comparisons on real tensors, with the other ranks played by plain additions in random order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.probes import payload
from fabricdoc.probes.collectives import Collective, Shape, Workspace, elements, fill, holds, tile

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit

CPU = torch.device("cpu")
SIZES = st.integers(1, 40_000)
DTYPES = st.sampled_from(sorted(payload.ITEM_BYTES))


def spaces(shape: Shape, world: int) -> tuple[list[Workspace], list[Collective]]:
    made = [Workspace([shape], rank, world, CPU) for rank in range(world)]
    return made, [space.collective(shape) for space in made]


def reduce_all(group: list[Collective], order: random.Random) -> None:
    """One all-reduce as a ring or tree might do it: pairwise sums in the dtype itself, in any order."""
    parts = [one._buffer.clone() for one in group]
    while len(parts) > 1:
        order.shuffle(parts)
        parts.append(parts.pop() + parts.pop())
    for one in group:
        one._buffer.copy_(parts[0])


@pytest.mark.parametrize("field", [{"op": "broadcast"}, {"dtype": "int8"}, {"size": 0}])
def test_a_shape_that_cannot_be_measured_is_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"unknown|can't"):
        Shape(**{"op": "all_reduce", "size": 8, "dtype": "bfloat16", **field})


@given(size=SIZES, dtype=DTYPES, world=st.integers(1, 64))
def test_an_all_gather_has_equal_parts_of_at_least_one_element(size: int, dtype: str, world: int) -> None:
    whole, part = elements(Shape("all_gather", size, dtype), world)
    assert whole == part * world
    assert part >= 1
    assert whole * payload.ITEM_BYTES[dtype] <= max(size, world * payload.ITEM_BYTES[dtype])


@given(size=SIZES, dtype=DTYPES)
def test_an_all_reduce_is_one_part(size: int, dtype: str) -> None:
    whole, part = elements(Shape("all_reduce", size, dtype), 8)
    assert whole == part == max(1, size // payload.ITEM_BYTES[dtype])


@settings(deadline=None)
@given(count=st.integers(1, 20_000), data=st.data())
def test_one_wrong_element_anywhere_is_seen(count: int, data: st.DataObject) -> None:
    pattern = tile(payload.total(2, 8), 1, "bfloat16", CPU)
    buffer = torch.empty(count, dtype=torch.bfloat16)
    fill(buffer, pattern)
    assert holds(buffer, pattern)
    where = data.draw(st.integers(0, count - 1))
    buffer[where] += 1
    assert not holds(buffer, pattern)


def test_not_a_number_is_never_right() -> None:
    pattern = tile(payload.total(2, 8), 1, "float32", CPU)
    buffer = torch.full((10,), float("nan"))
    assert not holds(buffer, pattern)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    world=st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12, 16]),
    dtype=DTYPES,
    size=st.integers(2, 9000),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_a_chain_of_real_additions_is_exact_in_any_order(
    world: int, dtype: str, size: int, seed: int, data: st.DataObject
) -> None:
    made, group = spaces(Shape("all_reduce", size, dtype), world)
    calls = data.draw(st.integers(1, min(group[0].chain, 130)))
    order = random.Random(seed)
    for one in group:
        one.restart()
    for _ in range(calls):
        reduce_all(group, order)
    assert all(one.correct(calls) for one in group)
    if world > 1:
        assert not group[0].correct(calls + 1)
    assert len(made) == world


@settings(max_examples=30, deadline=None)
@given(world=st.integers(2, 9), dtype=DTYPES, size=st.integers(2, 9000), data=st.data())
def test_a_rank_left_out_is_seen(world: int, dtype: str, size: int, data: st.DataObject) -> None:
    """In small worlds (all send everywhere) by every element; a copy that never came is a rank left out."""
    if payload.contribution(0, world, payload.SIGNIFICAND_BITS[dtype]).count(0):
        size = max(size, world * payload.ITEM_BYTES[dtype])
    _, group = spaces(Shape("all_reduce", size, dtype), world)
    for one in group:
        one.restart()
    missing = data.draw(st.integers(0, world - 1))
    kept = [one for rank, one in enumerate(group) if rank != missing]
    reduce_all(kept, random.Random(0))
    assert not kept[0].correct(1)


@settings(max_examples=30, deadline=None)
@given(world=st.integers(1, 9), dtype=DTYPES, size=SIZES, data=st.data())
def test_every_shard_of_an_all_gather_is_compared(world: int, dtype: str, size: int, data: st.DataObject) -> None:
    _, group = spaces(Shape("all_gather", size, dtype), world)
    for one in group:
        one.restart()
        assert not one.correct(1), "wiped memory must not pass"
        one._buffer.copy_(torch.cat([other._source for other in group]))
        assert one.correct(1)
        assert one.correct(77), "an all-gather gives the same after any number of calls"
    where = data.draw(st.integers(0, group[0]._buffer.numel() - 1))
    group[0]._buffer[where] = 0
    assert not group[0].correct(1)


def test_shapes_share_one_memory_and_each_gets_its_own_payload() -> None:
    shapes = [
        Shape("all_reduce", 6, "bfloat16"),
        Shape("all_gather", 4098, "float32"),
        Shape("all_reduce", 64, "float32"),
    ]
    space = Workspace(shapes, 1, 2, CPU)
    for shape in [*shapes, *reversed(shapes)]:
        one = space.collective(shape)
        sent = (
            payload.shard(1)
            if shape.op == "all_gather"
            else payload.contribution(1, 2, 8 if shape.dtype[0] == "b" else 24)
        )
        assert one._source.tolist() == list(sent[: one._source.numel()])
        assert one._source.numel() == elements(shape, 2)[1]


def test_the_call_goes_to_torch_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.distributed as dist

    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(dist, "all_reduce", lambda buffer: seen.append(("all_reduce", buffer.numel())))
    monkeypatch.setattr(dist, "all_gather_into_tensor", lambda out, part: seen.append(("old name", part.numel())))
    monkeypatch.setattr(dist, "all_gather_single", None, raising=False)
    space = Workspace([Shape("all_reduce", 16, "bfloat16")], 0, 2, CPU)
    space.collective(Shape("all_reduce", 16, "bfloat16")).call()
    space.collective(Shape("all_gather", 16, "bfloat16")).call()
    monkeypatch.setattr(dist, "all_gather_single", lambda out, part: seen.append(("new name", part.numel())))
    space.collective(Shape("all_gather", 16, "bfloat16")).call()
    assert seen == [("all_reduce", 8), ("old name", 4), ("new name", 4)]


def test_a_call_that_was_not_made_is_not_correct() -> None:
    one = Workspace([Shape("all_reduce", 16, "bfloat16")], 0, 2, CPU).collective(Shape("all_reduce", 16, "bfloat16"))
    one.restart()
    assert not one.correct(1)
