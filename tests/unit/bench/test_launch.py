"""What one launch is called: ok, failed, timeout, incorrect; who was first, and why."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.bench.launch import Place, describe, first_trouble, order_for, run_launch
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome, RankEnd
from fabricdoc.bench.plan import grid_shapes, make_plan
from fabricdoc.errors import NodeError
from fabricdoc.model.run import Candidate, Launch, Plan, Rank

pytestmark = pytest.mark.unit

IB_BASE = Candidate(name="base", role="base", variables={"NCCL_NET": "IB"})
SOCKET_LOG = "\n".join(
    [
        "a:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0",
        "a:1:1 [0] NCCL INFO Using network Socket",
    ]
)


def plan(backend: str = "gloo", base: Candidate | None = None) -> Plan:
    return make_plan(
        backend=backend,  # type: ignore[arg-type]
        ranks=[Rank(rank=0, node="alpha", local_rank=0), Rank(rank=1, node="beta", local_rank=0)],
        candidates=[base or Candidate(name="base", role="base", variables={"GLOO_SOCKET_IFNAME": "p0"})],
        shapes=grid_shapes([8]),
        blocks=1,
        seed=1,
        profile="p",
        objective="mix",
    )


def cell(rank: int, *, correct: bool = True, samples: list[float] | None = None) -> dict[str, Any]:
    return {
        "rank": rank,
        "view": "eager",
        "op": "all_reduce",
        "size": 8,
        "dtype": "bfloat16",
        "samples": samples or [10.0, 12.0],
        "correct": correct,
    }


def described(outcome: Outcome, p: Plan | None = None) -> Launch:
    p = p or plan()
    place = Place(1, "search", 1, 0)
    return describe(
        p, p.candidates[0], place, outcome, "2026-01-01T00:00:00Z", 1.0, order_for(p, p.candidates[0], place, "m")
    )


def ends(first: str = "ok", second: str = "ok", **more: str) -> dict[int, RankEnd]:
    return {0: RankEnd(first, **more), 1: RankEnd(second, **more)}  # type: ignore[arg-type]


def test_whole_launch_is_ok_with_the_slower_ranks_time() -> None:
    outcome = Outcome(cells=[cell(0, samples=[10.0, 12.0]), cell(1, samples=[11.0, 11.0])], ends=ends())
    launch = described(outcome)
    assert launch.status == "ok"
    (only,) = launch.cells
    assert (only.median_us, only.max_us, only.calls) == (11.5, 12.0, 2)


def test_a_cell_that_only_one_rank_sent_is_no_cell() -> None:
    assert described(Outcome(cells=[cell(0)], ends=ends())).cells == ()


def test_one_wrong_rank_makes_the_launch_incorrect_and_names_the_cell() -> None:
    launch = described(Outcome(cells=[cell(0), cell(1, correct=False)], ends=ends()))
    assert launch.status == "incorrect"
    assert launch.reason == "results were not bit-exact: all_reduce 8 B bfloat16 (eager) on rank 1"


def test_a_soak_that_was_wrong_makes_the_launch_incorrect_whatever_its_cells_say() -> None:
    soak = {"op": "all_gather", "size": 64, "dtype": "int32", "in_place": False, "calls": 500, "rank": 0}
    cells = [cell(0), cell(1)]
    outcome = Outcome(cells=cells, ends=ends(), soaks=[{**soak, "wrong": 0}, {**soak, "rank": 1, "wrong": 7}])
    launch = described(outcome)
    assert launch.status == "incorrect"
    assert launch.reason.endswith("all_gather 64 B int32 out of place (soak) on rank 1 (7 elements)")
    assert described(Outcome(cells=cells, ends=ends(), soaks=[{**soak, "wrong": 0}])).status == "ok"


def test_a_wrong_result_of_nccls_own_calls_makes_the_launch_incorrect() -> None:
    own = [{**cell(rank), "wrong": 3 * rank} for rank in (0, 1)]
    launch = described(Outcome(cells=[cell(0), cell(1)], directs=own, ends=ends()))
    assert launch.status == "incorrect"
    assert launch.reason.endswith("all_reduce 8 B bfloat16 (direct) on rank 1 (3 elements)")


def test_the_rank_that_died_is_named_not_the_one_stopped_for_it() -> None:
    outcome = Outcome(ends={0: RankEnd("stopped", reason="was stopped"), 1: RankEnd("died", reason="SIGKILL")})
    assert first_trouble(outcome)[:2] == ("failed", 1)
    assert described(outcome).reason == "SIGKILL"


def test_of_ranks_overdue_together_the_held_one_is_named() -> None:
    outcome = Outcome(
        ends={
            0: RankEnd("timeout", reason="rank 0 waits", state="S", stack=("File w, line 1 in wait",)),
            1: RankEnd("timeout", reason="rank 1: stopped (state T)", state="T", stack=("File c, line 2 in call",)),
            2: RankEnd("stopped", reason="rank 2 was stopped", state="T"),
        }
    )
    launch = described(outcome)
    assert (launch.status, launch.rank, launch.reason) == ("timeout", 1, "rank 1: stopped (state T)")
    assert [(stack.rank, stack.lines) for stack in launch.stacks] == [
        (0, ("File w, line 1 in wait",)),
        (1, ("File c, line 2 in call",)),
    ]


def test_a_held_rank_that_was_ended_for_another_ones_limit_is_still_named() -> None:
    overdue = RankEnd("timeout", "measure", reason="rank 0 was in phase measure at its limit of 4 s", state="S")
    held = RankEnd("stopped", "measure", reason="rank 1 was stopped: stopped (state T)", state="T")
    launch = described(Outcome(ends={0: overdue, 1: held}))
    assert (launch.status, launch.rank) == ("timeout", 1)
    assert launch.reason == f"{overdue.reason}; {held.reason}"


def test_what_nothing_ended_is_said_with_node_and_pid() -> None:
    outcome = Outcome(ends=ends("failed", reason="broken"), left={"beta": (4, 5)})
    assert described(outcome).reason == "broken; still alive after SIGKILL, on beta: process 4, 5"


def test_states_of_the_nodes_are_part_of_the_record() -> None:
    said = {"load_1min": 0.5, "port_bytes": {"p0": [10, 20]}, "sm_clock_mhz": {"unknown": "no driver"}}
    launch = described(Outcome(cells=[cell(0), cell(1)], ends=ends(), states={"beta": said, "alpha": {}}))
    assert [state.node for state in launch.states] == ["alpha", "beta"]
    assert launch.states[1].port_bytes == {"p0": (10, 20)}


def test_extra_work_is_laid_over_the_plans_and_a_soak_has_its_time() -> None:
    p = plan()
    plain = order_for(p, p.candidates[0], Place(1, "search", 1, 0), "m")
    more = order_for(p, p.candidates[0], Place(1, "search", 1, 0), "m", {"soak_s": 20, "skew": True})
    assert more.deadline_s == plain.deadline_s + 20
    assert more.work == {**plain.work, "soak_s": 20, "skew": True}


def test_timeout_stays_timeout_and_keeps_the_log_tail() -> None:
    outcome = Outcome(ends=ends("timeout", "timeout", reason="deadline", log="\n".join(map(str, range(99)))))
    launch = described(outcome)
    assert launch.status == "timeout"
    assert launch.log_tail[-1] == "98"
    assert len(launch.log_tail) == 12


def test_a_lost_agent_is_a_failure_of_that_node_in_its_last_phase() -> None:
    outcome = Outcome(lost={"beta": "the probe was killed"}, phases={0: "measure"}, ends=ends("stopped"))
    launch = described(outcome)
    assert (launch.status, launch.rank, launch.phase) == ("failed", None, "measure")
    assert launch.reason == "beta: the probe was killed"


def test_forced_ib_that_ran_over_sockets_is_failed_whatever_its_speed() -> None:
    outcome = Outcome(cells=[cell(0), cell(1)], ends=ends(log=SOCKET_LOG))
    launch = described(outcome, plan("nccl", IB_BASE))
    assert launch.status == "failed"
    assert "sockets" in launch.reason


def test_proofs_of_ranks_are_joined_in_rank_order_however_they_arrived() -> None:
    def log(netdev: str) -> str:
        return "\n".join(
            [
                SOCKET_LOG,
                f"a:1:1 [0] NCCL INFO NET/Socket : Using [0]{netdev}:10.0.0.1<0>",
                "a:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0",
            ]
        )

    outcome = Outcome(cells=[cell(0), cell(1)], ends={1: RankEnd("ok", log=log("p1")), 0: RankEnd("ok", log=log("p0"))})
    proof = described(outcome, plan("nccl")).proof
    assert proof is not None
    assert proof.rank_interfaces == (("p0",), ("p1",))


def test_gloo_proof_is_none_and_says_why() -> None:
    launch = described(Outcome(cells=[cell(0), cell(1)], ends=ends()))
    assert launch.proof is not None
    assert launch.proof.grade == "none"
    assert "gloo" in launch.proof.network.unknown  # type: ignore[union-attr]


def test_tuning_lines_are_asked_for_in_the_proof_round_only() -> None:
    p = plan("nccl", IB_BASE)
    orders = {
        r: order_for(p, p.candidates[0], Place(1, r, 0, 0), "m").environment["alpha"] for r in ("proof", "search")
    }
    assert "TUNING" in orders["proof"]["NCCL_DEBUG_SUBSYS"]
    assert "TUNING" not in orders["search"]["NCCL_DEBUG_SUBSYS"]
    assert orders["search"]["NCCL_NET"] == "IB"


def test_each_node_gets_its_own_ranks() -> None:
    p = plan()
    order = order_for(p, p.candidates[0], Place(3, "search", 1, 0), "10.0.0.1")
    assert order.message("beta")["ranks"] == [{"rank": 1, "local_rank": 0}]
    assert order.message("alpha")["number"] == 3
    assert order.world == 2


class Agents:
    """Takes notes of starts and launches; `broken`: agents with a set's own environment do not start."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.log: list[object] = []

    def restart(self, environment: object = None) -> dict[str, tuple[int, ...]]:
        self.log.append(environment)
        if environment and self.broken:
            raise NodeError("beta: python3 ended with status 127")
        return {}

    def launch(self, order: LaunchOrder) -> Outcome:
        self.log.append(order.number)
        return Outcome(cells=[cell(0), cell(1)], ends=ends())


def launched(agents: Agents, **changes: object) -> Launch:
    p = plan()
    one = p.candidates[0].model_copy(update=changes)
    return run_launch(agents, p, one, Place(3, "search", 1, 0), "m")[0]  # type: ignore[arg-type]


def test_agents_are_started_anew_only_for_a_set_that_is_read_when_torch_is_loaded() -> None:
    usual, fresh = Agents(), Agents()
    assert launched(usual).status == "ok"
    assert usual.log == [3]
    launch = launched(fresh, fresh_agent=True, on_base=False, variables={"LD_PRELOAD": "/x.so"})
    assert launch.status == "ok"
    first, number, last = fresh.log
    assert (number, last) == (3, None), "the next launch has the usual agents"
    assert {dict(values)["LD_PRELOAD"] for values in dict(first).values()} == {"/x.so"}  # type: ignore[call-overload]


def test_agents_that_do_not_start_with_a_sets_environment_fail_its_launch_alone() -> None:
    agents = Agents(broken=True)
    launch = launched(agents, fresh_agent=True, variables={"LD_PRELOAD": "/gone.so"})
    assert (launch.status, launch.reason) == ("failed", "beta: python3 ended with status 127")
    assert agents.log[-1] is None, "the usual agents are back"
