"""What disturbs a launch is told by node and number; what can't be read, and what a candidate does itself, is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fabricdoc.bench.disturbance import break_in_block, disturbance, limits, most_again
from fabricdoc.model.documents import NOT_READ
from fabricdoc.model.run import Launch, NodeState

pytestmark = pytest.mark.unit


def _state(node: str = "alpha", clock: int = 1980, **more) -> NodeState:  # type: ignore[no-untyped-def]
    return NodeState(
        **({"node": node, "sm_clock_mhz": (345, clock), "other_gpu_processes": (), "throttled": ()} | more)
    )


def _launch(*states: NodeState, number: int = 1, candidate: str = "one") -> Launch:
    return Launch(
        number=number, round="search", block=number, position=0, candidate=candidate, status="ok", seconds=2.0,
        started="2026-11-29T10:00:00Z", states=states,
    )  # fmt: skip


def test_quiet_nodes_and_unknown_facts_disturb_nothing() -> None:
    assert disturbance(_launch(_state(), _state("beta")), []) == ""
    assert disturbance(_launch(NodeState(node="alpha"), NodeState(node="beta")), []) == ""
    assert disturbance(_launch(), []) == ""


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ([_state(other_gpu_processes=(7, 8, 9, 10))], "alpha: the GPU was used by pid 7, 8, 9"),
        ([_state(throttled=("gpu_idle", "hw_thermal_slowdown"))], "alpha: the GPU was held back (hw_thermal_slowdown)"),
        ([_state(throttled=("gpu_idle", "applications_clocks_setting"))], ""),
        ([_state(), _state("beta", 1500)],
         "clocks apart: the GPU of beta ran at 1500 MHz, that of alpha at 1980 MHz"),
        ([_state(), _state("beta", 1800)], ""),
        ([_state(port_errors={"port_rcv_errors": 1})], "alpha: port_rcv_errors rose by 1"),
        ([_state(port_errors={"mlx5_0/1 out_of_sequence": 11})], "alpha: mlx5_0/1 out_of_sequence rose by 11"),
        ([_state(port_errors={"mlx5_0/1 out_of_sequence": 10, "np_cnp_sent": 5000})], ""),
        ([_state(port_errors={"eth0 rx_errors": 9}, port_bytes={"eth0": (9, 0), "mlx5_0/1": (500, 500)})], ""),
        ([_state(port_errors={"p1 rx_errors": 9}, port_bytes={"p1": (90, 90), "p0": (500, 500)})],
         "alpha: p1 rx_errors rose by 9"),
        ([_state(port_errors={"p0 rx_dropped": 100}, port_bytes={"p0": (500, 500)})], ""),
        ([_state(port_errors={"p0 rx_dropped": 101}, port_bytes={"p0": (500, 500)})],
         "alpha: p0 rx_dropped rose by 101"),
    ],
)  # fmt: skip
def test_each_kind_is_told_by_node_and_number(states: list[NodeState], reason: str) -> None:
    assert disturbance(_launch(*states), []) == reason


def test_a_clock_before_the_launch_says_nothing_and_a_fall_from_its_own_usual_does() -> None:
    earlier = [_launch(_state(), number=n) for n in range(1, 6)]
    assert disturbance(_launch(_state(clock=1900)), earlier) == ""
    assert disturbance(_launch(_state(clock=1500)), earlier) == "alpha: the GPU's clock fell to 1500 MHz from 1980 MHz"
    assert disturbance(_launch(_state(clock=1500)), earlier[:3]) == ""


def test_counters_that_rise_under_one_candidate_alone_are_its_doing() -> None:
    bad = _state(port_errors={"port_xmit_wait_errors": 3})
    earlier = [_launch(bad, number=1), _launch(bad, number=2)]
    assert disturbance(_launch(bad, number=3), earlier[:1]) != ""
    assert disturbance(_launch(bad, number=3), earlier) == ""
    assert disturbance(_launch(bad, number=3), [*earlier, _launch(bad, number=4, candidate="base")]) != ""


def test_a_block_may_stand_still_for_a_moment_only() -> None:
    ended = datetime(2026, 11, 29, 10, 0, 2, tzinfo=UTC)
    assert break_in_block(_launch(), ended + timedelta(seconds=50)) == ""
    text = break_in_block(_launch(), ended + timedelta(seconds=900))
    assert text == "the run stood still for 900 s in this block"


@pytest.mark.parametrize(("blocks", "again"), [(1, 1), (3, 2), (6, 3), (12, 6)])
def test_half_the_blocks_may_be_measured_again(blocks: int, again: int) -> None:
    assert most_again(blocks) == again


def test_limits_are_whole() -> None:
    assert NOT_READ.unknown
    assert set(limits()) == {"clocks", "port_errors", "break", "again"}
    assert all(isinstance(name, str) for name in limits()["clocks"]["throttle"])
