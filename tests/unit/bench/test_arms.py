"""What arms add to a launch: calls, seconds, memory, words for the worker, and limits of its phases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.arms import GATED, OWN_DEADLINE, PLAIN, SPARE_S, Arms, arms_of, launch_limit, phase_limits
from fabricdoc.bench.launch import Place, order_for
from fabricdoc.bench.plan import DEADLINE_S, PROOF_DEADLINE_S, grid_shapes, make_plan
from fabricdoc.model.run import Candidate, Plan, Rank
from fabricdoc.probes import arms as far
from fabricdoc.probes import calls
from fabricdoc.probes.deadlines import limits_for
from fabricdoc.probes.worker import SKEW_VIEWS, shapes_of
from fabricdoc.workflow.arms import LARGEST_SIDE, PATHS, PHASES

pytestmark = pytest.mark.unit

ALL = Arms("both", skew=True, gemm=(8, 64, 32))


def plan(arms: Arms = PLAIN, backend: str = "nccl", **deadlines: float) -> Plan:
    return make_plan(
        backend=backend,  # type: ignore[arg-type]
        ranks=[Rank(rank=0, node="a", local_rank=0), Rank(rank=1, node="b", local_rank=0)],
        candidates=[Candidate(name="base", role="base")],
        shapes=grid_shapes([8, 20480]),
        blocks=6,
        seed=1,
        profile="p",
        objective="mix",
        arms=arms,
        deadlines_s=deadlines,
    )


def order(one: Plan, round_: str = "search") -> Any:
    return order_for(one, one.candidates[0], Place(1, round_, 1, 0), "10.0.0.1")


def test_the_worker_knows_every_word() -> None:
    """Both sides of the wire: what is asked here is what the node takes."""
    assert calls.PATHS == PATHS
    work = order(plan(ALL)).work
    assert work["path"] == "both" and work["skew"] is True and work["gemm"] == {"m": 8, "n": 64, "k": 32}
    assert len(shapes_of(work, "nccl")) == 2
    assert set(SKEW_VIEWS) == set(GATED)
    assert LARGEST_SIDE == far._LARGEST
    assert set(limits_for({"deadlines": dict.fromkeys(PHASES, 3.0)}).values()) == {3.0}


def test_a_plan_without_arms_asks_for_nothing_more() -> None:
    assert order(plan()).work.keys() & {"path", "skew", "gemm"} == set()
    assert order(plan()).work["deadlines"] == {}
    assert arms_of(plan()) == PLAIN


@pytest.mark.parametrize(("path", "said"), [("torch", None), ("direct", "direct"), ("both", None)])
def test_a_proof_takes_the_path_and_times_nothing(path: Any, said: str | None) -> None:
    work = order(plan(Arms(path, skew=True, gemm=(1, 1, 1))), "proof").work
    assert work.get("path") == said
    assert work.keys() & {"skew", "gemm"} == set()


def test_a_plan_keeps_its_arms() -> None:
    again = Plan.model_validate_json(plan(ALL, measure=9.0).model_dump_json())
    assert arms_of(again) == ALL
    assert again.deadlines_s == {"measure": 9.0}


def test_every_arm_costs_calls_and_the_product_memory_and_seconds() -> None:
    assert [PLAIN.calls(view) for view in ("graph", "eager", "throughput")] == [1, 1, 1]
    assert [ALL.calls(view) for view in ("graph", "eager", "throughput")] == [4, 5, 1]
    assert PLAIN.memory() == 0 and ALL.memory() == 4 * (8 * 32 + 32 * 64 + 8 * 64)
    assert PLAIN.product_s("nccl", "graph") == 0.0 == ALL.product_s("nccl", "throughput")
    assert ALL.product_s("gloo", "eager") > ALL.product_s("nccl", "eager") > 0
    bare, more = plan().estimate, plan(Arms("both", skew=True, gemm=(4096, 4096, 4096))).estimate
    assert more.seconds > bare.seconds
    assert more.bytes_per_link > bare.bytes_per_link
    assert more.memory_per_node > bare.memory_per_node
    assert more.launches == bare.launches


def test_a_limit_of_a_phase_reaches_the_rank_and_the_launch_has_time_for_it() -> None:
    one = plan(measure=300.0)
    assert order(one).work["deadlines"] == {"measure": 300.0}
    assert (order(one).deadline_s, order(one, "proof").deadline_s) == (300.0 + SPARE_S, 300.0 + SPARE_S)
    short = plan(measure=5.0)
    assert order(short).deadline_s == DEADLINE_S["nccl"], "a short phase does not shorten the launch"
    own = plan(measure=300.0, launch=20.0)
    assert order(own).deadline_s == order(own, "proof").deadline_s == 20.0
    assert order(own).work["deadlines"] == {"measure": 300.0}, "launch is no phase of a rank"
    assert order(plan(backend="gloo"), "proof").deadline_s == PROOF_DEADLINE_S["gloo"]


@given(st.dictionaries(st.sampled_from([*PHASES, OWN_DEADLINE]), st.floats(0.1, 3600)), st.floats(1, 3600))
def test_a_launch_never_ends_before_its_longest_phase_unless_told(limits: dict[str, float], usual: float) -> None:
    limit = launch_limit(limits, usual)
    if OWN_DEADLINE in limits:
        assert limit == limits[OWN_DEADLINE]
    else:
        assert limit >= max(phase_limits(limits).values(), default=0.0)
        assert limit >= usual or limit >= max(phase_limits(limits).values()) + SPARE_S
