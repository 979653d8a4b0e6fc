"""A stage's time is the sum of its calls; sizes nobody measured lie on a line in logarithms."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.model.profile import Collective, Profile, Stage, Totals
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.blocks import CellKey
from fabricdoc.tuning.stage import phases_of, stage_recipe

pytestmark = pytest.mark.unit


TOTALS = Totals(collectives=0, all_reduce=0, all_gather=0, all_reduce_bytes=0, all_gather_bytes=0)


def _one(size: int, count: int = 1, op: str = "all_reduce", **changes: Any) -> Collective:
    return Collective(role="r", op=op, count=count, size=size, send_bytes=size, **changes)


def _profile(decode: tuple[Collective, ...] = (), prefill: tuple[Collective, ...] = ()) -> Profile:
    return Profile(
        name="p", summary="s", source="t", decode=Stage(rows=1, collectives=decode, totals=TOTALS),
        prefill=Stage(rows=1, collectives=prefill, totals=TOTALS),
    )  # fmt: skip


def _time(profile: Profile, phase: Any, times: dict[CellKey, float]) -> float | None:
    log = stage_recipe(Aim(profile), phase, sorted(times)).log_time(
        {key: math.log(value) for key, value in times.items()}
    )
    return None if log is None else math.exp(log)


def test_calls_are_summed_with_their_counts() -> None:
    profile = _profile(decode=(_one(8, 3), _one(16, 2), _one(64, 1, "all_gather", in_graph=False)))
    times = {
        CellKey("graph", "all_reduce", 8): 10.0,
        CellKey("graph", "all_reduce", 16): 20.0,
        CellKey("eager", "all_gather", 64): 7.0,
    }
    assert _time(profile, "decode", times) == pytest.approx(3 * 10 + 2 * 20 + 7)


def test_decode_reads_the_graph_and_prefill_the_eager_view() -> None:
    profile = _profile(decode=(_one(8),), prefill=(_one(8),))
    times = {
        CellKey("graph", "all_reduce", 8): 10.0,
        CellKey("eager", "all_reduce", 8): 30.0,
        CellKey("throughput", "all_reduce", 8): 1.0,
    }
    assert _time(profile, "decode", times) == pytest.approx(10.0)
    assert _time(profile, "prefill", times) == pytest.approx(30.0)


def test_what_a_decode_step_sends_outside_its_graph_is_read_eager() -> None:
    times = {CellKey("graph", "all_gather", 8): 10.0, CellKey("eager", "all_gather", 8): 30.0}
    assert _time(_profile(decode=(_one(8, op="all_gather", in_graph=False),)), "decode", times) == pytest.approx(30.0)


@pytest.mark.parametrize(("phase", "view"), [("decode", "eager"), ("prefill", "graph")])
def test_the_other_view_stands_in_but_throughput_never_does(phase: str, view: str) -> None:
    profile = _profile(decode=(_one(8),), prefill=(_one(8),))
    assert _time(profile, phase, {CellKey(view, "all_reduce", 8): 9.0}) == pytest.approx(9.0)
    recipe = stage_recipe(Aim(profile), phase, [CellKey("throughput", "all_reduce", 8)])
    assert (recipe.usable, recipe.missing) == (False, ("all_reduce",))


def test_views_are_never_mixed_within_an_op() -> None:
    """20 is between 8 (graph) and 32 (graph) though the eager view has exactly 20."""
    times = {
        CellKey("graph", "all_reduce", 8): 10.0,
        CellKey("graph", "all_reduce", 32): 10.0,
        CellKey("eager", "all_reduce", 20): 99.0,
    }
    assert _time(_profile(decode=(_one(20),)), "decode", times) == pytest.approx(10.0)


@settings(deadline=None)
@given(
    slope=st.floats(0.0, 1.2), start=st.floats(1.0, 100.0), size=st.integers(8, 4096),
    sizes=st.sets(st.integers(8, 4096), min_size=1, max_size=6),
)  # fmt: skip
def test_a_power_law_is_interpolated_exactly(slope: float, start: float, size: int, sizes: set[int]) -> None:
    times = {CellKey("graph", "all_reduce", one): start * one**slope for one in {8, 4096} | sizes}
    assert _time(_profile(decode=(_one(size),)), "decode", times) == pytest.approx(start * size**slope, rel=1e-9)


def test_below_the_smallest_takes_its_time_and_above_the_largest_grows_with_bytes() -> None:
    times = {CellKey("graph", "all_reduce", 1024): 10.0, CellKey("graph", "all_reduce", 4096): 30.0}
    assert _time(_profile(decode=(_one(8),)), "decode", times) == pytest.approx(10.0)
    assert _time(_profile(decode=(_one(8192),)), "decode", times) == pytest.approx(60.0)


def test_sizes_beyond_what_was_measured_are_told_once() -> None:
    profile = _profile(decode=(_one(8 << 20), _one(8 << 20), _one(4)))
    recipe = stage_recipe(Aim(profile), "decode", [CellKey("eager", "all_reduce", 1 << 20)])
    assert recipe.beyond == (
        "all_reduce 8 MiB was not measured: its time is taken from 1 MiB in proportion to bytes",
    )  # fmt: skip


def test_an_op_nobody_measured_makes_the_stage_unusable() -> None:
    profile = _profile(decode=(_one(8), _one(64, op="all_gather")))
    recipe = stage_recipe(Aim(profile), "decode", [CellKey("graph", "all_reduce", 8)])
    assert (recipe.usable, recipe.missing) == (False, ("all_gather",))
    assert recipe.log_time({CellKey("graph", "all_reduce", 8): 1.0}) is None


def test_a_launch_that_lacks_one_cell_has_no_stage_time() -> None:
    recipe = stage_recipe(
        Aim(_profile(decode=(_one(8), _one(16)))), "decode", [CellKey("graph", "all_reduce", size) for size in (8, 16)]
    )
    assert recipe.log_time({CellKey("graph", "all_reduce", 8): 1.0}) is None


@pytest.mark.parametrize("changes", [{"spans_nodes": False}, {"bypass": "rocenante"}])
def test_what_nccl_does_not_carry_between_nodes_is_not_counted(changes: dict[str, Any]) -> None:
    recipe = stage_recipe(Aim(_profile(decode=(_one(8, **changes),))), "decode", [CellKey("graph", "all_reduce", 8)])
    assert (recipe.calls, recipe.usable) == ((), False)
    assert phases_of(Aim(_profile(decode=(_one(8, **changes),)))) == {}


def test_the_phase_of_a_size_is_decodes_when_both_send_it() -> None:
    profile = _profile(decode=(_one(8),), prefill=(_one(8), _one(16)))
    assert phases_of(Aim(profile)) == {("all_reduce", 8): "decode", ("all_reduce", 16): "prefill"}
