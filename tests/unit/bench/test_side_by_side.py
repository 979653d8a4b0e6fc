"""Several launches at once: told apart by number and node, and one that goes wrong ends alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fabricdoc.bench import Agents, Errand, Place, run_side_by_side, side_by_side
from fabricdoc.bench.plan import grid_shapes, make_plan
from fabricdoc.errors import NodeError, UsageError
from fabricdoc.fabric import within
from fabricdoc.model.run import Candidate, Launch, Rank

pytestmark = pytest.mark.unit

PAIRS = (("a", "b"), ("c", "d"))
BASE = Candidate(name="preset", variables={"GLOO_SOCKET_IFNAME": "p0"})
SHAPE = {"op": "all_reduce", "size": 8, "dtype": "bfloat16", "in_place": True}
ENDED: dict[str, Any] = {"status": "ok", "phase": "done", "reason": "", "log": "", "timings_s": {}}
Said = tuple[str, dict[str, Any]]


class Wires:
    """Stands for the channels to four agents. `said` is given in order; None lets a deadline pass."""

    names = ("a", "b", "c", "d")

    def __init__(self, said: list[Said | None], gone: tuple[str, ...] = ()) -> None:
        self.said, self.gone = said, gone
        self.sent: list[Said] = []
        self.now = 1000.0

    def send(self, name: str, message: dict[str, Any]) -> None:
        if name in self.gone:
            raise NodeError(f"{name} has gone", id="node-closed")
        self.sent.append((name, message))

    def receive(self, _timeout_s: float) -> Said | None:
        if not self.said:
            raise NodeError("the probes of all nodes have ended", id="node-closed")
        got = self.said.pop(0)
        self.now += 0.0 if got else 100.0
        return got

    def told(self, verb: str) -> list[Said]:
        return [(name, message) for name, message in self.sent if message["do"] == verb]


def errand(number: int, pair: tuple[str, str]) -> Errand:
    plan = make_plan(
        backend="gloo",
        ranks=[Rank(rank=at, node=name, local_rank=0) for at, name in enumerate(pair)],
        candidates=[BASE],
        shapes=grid_shapes([8]),
        blocks=1,
        seed=1,
        profile="p",
        objective="mix",
    )
    return Errand(plan, BASE, Place(number, "search", 1, 0), f"10.0.0.{number}")


def run(wires: Wires, *errands: Errand) -> list[Launch]:
    agents = Agents([])
    agents._channels = wires  # type: ignore[assignment]
    return run_side_by_side(agents, errands or [errand(at + 1, pair) for at, pair in enumerate(PAIRS)])


def said(name: str, number: int, event: str, **fields: Any) -> Said:
    return name, {"event": event, "number": number, **fields}


def good(name: str, number: int, rank: int) -> list[Said]:
    cell = said(name, number, "cell", rank=rank, view="eager", samples=[5.0], correct=True, **SHAPE)
    return [cell, said(name, number, "rank_done", rank=rank, **ENDED), said(name, number, "launch_done")]


def whole(*names: str) -> list[Said | None]:
    places = {name: (at + 1, rank) for at, pair in enumerate(PAIRS) for rank, name in enumerate(pair)}
    return [message for name in names for message in good(name, *places[name])]


def test_both_pairs_are_started_at_once_and_described_in_order() -> None:
    wires = Wires([*whole("c", "a", "d", "b")])
    first, second = run(wires)
    assert {(name, message["number"]) for name, message in wires.told("launch")} == {
        ("a", 1), ("b", 1), ("c", 2), ("d", 2),
    }  # fmt: skip
    assert [(one.number, one.status, len(one.cells)) for one in (first, second)] == [(1, "ok", 1), (2, "ok", 1)]
    assert 0 <= first.seconds < 60


def test_where_the_store_is_goes_to_that_pair_alone() -> None:
    wires = Wires([said("c", 2, "store", port=4711), *whole("a", "b", "c", "d")])
    run(wires)
    assert wires.told("join") == [
        (name, {"do": "join", "number": 2, "address": "10.0.0.2", "port": 4711}) for name in ("c", "d")
    ]


def test_one_pair_that_fails_is_stopped_and_the_other_goes_on() -> None:
    bad = said("a", 1, "rank_done", rank=0, **{**ENDED, "status": "failed", "reason": "no route"})
    late = [said("a", 1, "launch_done"), *whole("b")]
    wires = Wires([bad, *late, *whole("c", "d")])
    first, second = run(wires)
    assert (first.status, first.reason, second.status) == ("failed", "no route", "ok")
    assert {name for name, _ in wires.told("stop")} == {"a", "b"}


def test_an_agent_that_is_lost_costs_its_own_launch() -> None:
    closed = ("b", {"event": "closed", "message": "b: ssh ended", "id": "x", "fix": ""})
    wires = Wires([closed, said("a", 1, "launch_done"), *whole("c", "d")])
    first, second = run(wires)
    assert (first.status, "ssh ended" in first.reason, second.status) == ("failed", True, "ok")


def test_one_that_can_not_even_be_told_is_lost_and_the_other_goes_on() -> None:
    wires = Wires([said("a", 1, "launch_done"), *whole("c", "d")], gone=("b",))
    first, second = run(wires)
    assert ("b has gone" in first.reason, second.status) == (True, "ok")


def test_a_hang_is_stopped_at_its_deadline_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    wires = Wires([*whole("c", "d"), None, None])
    monkeypatch.setattr(side_by_side.time, "monotonic", lambda: wires.now)
    first, second = run(wires)
    assert (first.status, "stopped answering" in first.reason) == ("failed", True)
    assert second.status == "ok"
    assert {name for name, message in wires.told("stop") if message["number"] == 1} == {"a", "b"}


def test_inside_a_deadline_a_hang_is_given_up_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own limit, and to end it a fifth of what is left, twice."""
    waits: list[float] = []

    class Patient(Wires):
        def receive(self, timeout_s: float) -> Said | None:
            waits.append(timeout_s)
            self.now += timeout_s
            return None

    wires = Patient([])
    monkeypatch.setattr(side_by_side.time, "monotonic", lambda: wires.now)  # `within` reads the same clock
    one = errand(1, PAIRS[0])
    one = replace(one, plan=one.plan.model_copy(update={"launch_deadline_s": 5.0}))
    with within(10.0):
        (launch,) = run(wires, one)
    assert waits == [7.0, 2.0]
    assert launch.reason.endswith("the agent stopped answering")
    assert launch.seconds == 9.0


def test_an_overdue_rank_makes_its_pair_alone_tell_where_it_stands() -> None:
    wires = Wires([said("b", 1, "expired", reason="rank 1 was overdue"), *whole("a", "b", "c", "d")])
    run(wires)
    assert {(name, message["stacks"]) for name, message in wires.told("stop")} == {("a", True), ("b", True)}


def test_what_is_no_event_of_that_node_costs_its_launch() -> None:
    foreign = said("b", 1, "cell", rank=0, view="eager", samples=[1.0], correct=True, **SHAPE)
    first, second = run(Wires([foreign, said("a", 1, "launch_done"), *whole("c", "d")]))
    assert ("no event" in first.reason, second.status) == (True, "ok")


def test_another_launchs_number_and_a_node_of_none_are_passed_over() -> None:
    stray = [said("a", 2, "cell", rank=0, view="eager", samples=[1.0], correct=True, **SHAPE), said("x", 1, "state")]
    first, _second = run(Wires([*stray, *whole("a", "b", "c", "d")]))
    assert (first.status, len(first.cells)) == ("ok", 1)


@pytest.mark.parametrize("pairs", [((1, ("a", "b")), (2, ("b", "c"))), ((1, ("a", "b")), (1, ("c", "d")))])
def test_a_node_or_a_number_in_two_launches_is_refused(pairs: tuple[tuple[int, tuple[str, str]], ...]) -> None:
    with pytest.raises(UsageError) as caught:
        run(Wires([]), *(errand(number, pair) for number, pair in pairs))
    assert caught.value.id == "launches-overlap"


def test_when_all_agents_are_gone_every_launch_says_so() -> None:
    first, second = run(Wires([]))
    assert "probes of all nodes have ended" in first.reason
    assert "probes of all nodes have ended" in second.reason
