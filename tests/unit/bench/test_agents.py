"""The conversation with agents: who is told what, and what is kept of what they say."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.bench import agents as agents_module
from fabricdoc.bench.agents import CLOSE_S, GRACE_S, LEAST_CLOSE_S, Agents, grace
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome
from fabricdoc.errors import NodeError
from fabricdoc.fabric import within

pytestmark = pytest.mark.unit

SHAPE = {"op": "all_reduce", "size": 8, "dtype": "bfloat16", "in_place": True}
ENDED: dict[str, Any] = {"status": "ok", "phase": "done", "reason": "", "log": "", "timings_s": {}}


class Wires:
    """Stands for the channels to two agents: what is sent is kept, what they say is given."""

    names = ("alpha", "beta")

    def __init__(self, *said: tuple[str, dict[str, Any]], answers: dict[str, dict[str, Any]] | None = None) -> None:
        self.said = list(said)
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.answers = answers or {}

    def send(self, name: str, message: dict[str, Any]) -> None:
        self.sent.append((name, message))

    def broadcast(self, message: dict[str, Any]) -> None:
        self.sent.append(("all", message))

    def receive(self, _timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        return self.said.pop(0) if self.said else None

    def gather(self, event: str, _timeout_s: float, _what: str) -> dict[str, dict[str, Any]]:
        assert event == "leftover"
        return self.answers


def agents(wires: Wires) -> Agents:
    made = Agents([])
    made._channels = wires  # type: ignore[assignment]
    return made


def order() -> LaunchOrder:
    ranks = {name: [{"rank": rank, "local_rank": 0}] for rank, name in enumerate(Wires.names)}
    return LaunchOrder(3, "gloo", 2, ranks, {"alpha": {}, "beta": {}}, {}, 5.0, "10.0.0.1")


def said(name: str, event: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return name, {"event": event, "number": 3, **fields}


def whole(wires: Wires) -> Outcome:
    return agents(wires).launch(order())


DONE = [said("alpha", "launch_done", status="ok"), said("beta", "launch_done", status="ok")]


def test_what_ranks_say_is_sorted_by_its_kind() -> None:
    outcome = whole(
        Wires(
            said("alpha", "forked", rank=0, pid=7, start=70),
            said("alpha", "phase", rank=0, phase="measure", what="", at_s=1),
            said("alpha", "cell", rank=0, view="eager", samples=[1.5], correct=True, **SHAPE),
            said("beta", "skew", rank=1, view="eager", waits=[0.0], gated=[1.5], **SHAPE),
            said("beta", "direct", rank=1, view="eager", samples=[1.5], wrong=0, **SHAPE),
            said("beta", "soak", rank=1, calls=5, wrong=0, **SHAPE),
            said("beta", "state", load_1min=0.5),
            said("alpha", "rank_done", rank=0, **ENDED, stack=["a\x1b[2J", 5], state="Sleeping"),
            *DONE,
        )
    )
    assert [len(kind) for kind in (outcome.cells, outcome.skews, outcome.directs, outcome.soaks)] == [1, 1, 1, 1]
    assert outcome.states["beta"]["load_1min"] == 0.5
    assert outcome.ends[0].stack == ("a?[2J", "5") and outcome.ends[0].state == "S"
    assert outcome.phases == {0: "measure"}


def test_a_rank_overdue_anywhere_makes_all_tell_where_they_stand() -> None:
    wires = Wires(said("beta", "expired", reason="rank 1 was overdue"), *DONE)
    whole(wires)
    assert ("all", {"do": "stop", "number": 3, "stacks": True}) in wires.sent


def test_a_rank_that_failed_ends_the_others_at_once() -> None:
    wires = Wires(said("beta", "rank_done", rank=1, **{**ENDED, "status": "failed"}), *DONE)
    whole(wires)
    assert [message for _, message in wires.sent if message["do"] == "stop"] == [
        {"do": "stop", "number": 3, "stacks": False}
    ]


def test_processes_that_nothing_ended_are_kept_by_node() -> None:
    outcome = whole(Wires(said("alpha", "launch_done", alive=[4, 5]), DONE[1]))
    assert outcome.left == {"alpha": (4, 5)}


def test_agents_after_killed_ones_are_told_the_ranks_of_the_last_launch_by_pid_and_start() -> None:
    wires = Wires(
        said("alpha", "forked", rank=0, pid=7, start=70), said("beta", "forked", rank=1, pid=8, start=80), *DONE
    )
    wires.answers = {"alpha": {"ended": [7], "alive": []}, "beta": {"ended": [], "alive": [8]}}
    made = agents(wires)
    assert made.launch(order()).pids == {7, 8}
    wires.sent.clear()
    assert made._end_leftovers() == {"beta": (8,)}
    assert wires.sent == [
        ("alpha", {"do": "leftover", "ranks": [(7, 70)]}),
        ("beta", {"do": "leftover", "ranks": [(8, 80)]}),
    ]
    assert made._end_leftovers() == {}, "asked once"


def test_events_of_another_launch_are_passed_over() -> None:
    outcome = whole(Wires(("alpha", {"event": "cell", "number": 2, "rank": 0}), *DONE))
    assert outcome.cells == []


@pytest.mark.parametrize(
    "message",
    [
        said("beta", "cell", rank=1, view="eager", samples=["fast"], correct=True, **SHAPE),
        said("beta", "cell", rank=0, view="eager", samples=[1.5], correct=True, **SHAPE),
        said("beta", "rank_done", rank=1),
        said("beta", "forked", rank=1, pid=1, start=5),
    ],
)
def test_an_agent_that_says_what_is_no_event_costs_its_launch_only(message: tuple[str, dict[str, Any]]) -> None:
    wires = Wires(message, DONE[0])
    outcome = whole(wires)
    assert outcome.lost["beta"].startswith("its agent said what is no event: ")
    assert outcome.cells == [] and "stop" in {sent["do"] for _, sent in wires.sent}


class Timed(Wires):
    """Keeps how long each wait could have been."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.closed: list[float] = []

    def receive(self, timeout_s: float) -> None:
        self.waits.append(timeout_s)

    def gather(self, _event: str, timeout_s: float, _what: str) -> dict[str, dict[str, Any]]:
        self.waits.append(timeout_s)
        raise NodeError("the bench agent on beta did not answer", id="node-timeout")

    def close(self, grace_s: float) -> None:
        self.closed.append(grace_s)


def test_inside_a_deadline_no_wait_for_an_agent_goes_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch of 5 s in 10: silent agents are told to stop after 7 s and given up after 9."""
    wires = Timed()
    with within(10.0):
        outcome = whole(wires)
    assert set(outcome.lost) == {"alpha", "beta"}
    assert 6.5 < wires.waits[0] <= 7.0
    assert 1.5 < wires.waits[1] <= 2.0
    free = Timed()
    whole(free)
    assert 12.5 < free.waits[0] <= 5.0 + GRACE_S
    with within(0.0):
        assert grace() == 0.0
    assert grace() == GRACE_S


def test_agents_that_do_not_say_hello_are_ended_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what hangs there would live as long as this process."""
    wires, started = Timed(), []

    def start(*_: object, start_deadline_s: float) -> Timed:
        started.append(start_deadline_s)
        return wires

    monkeypatch.setattr(agents_module, "open_channels", start)
    with within(4.0), pytest.raises(NodeError), Agents([], hello_s=60.0):
        pass
    assert 3.0 < started[0] <= 4.0
    assert 3.0 < wires.waits[0] <= 4.0
    assert wires.closed == [CLOSE_S]
    with within(0.0):
        agents(wires).close()
    assert wires.closed == [CLOSE_S, LEAST_CLOSE_S], "ranks need a moment to be ended by their agent"
