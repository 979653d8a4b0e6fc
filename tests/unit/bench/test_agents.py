"""The conversation with agents: who is told what, and what is kept of what they say."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.bench.agents import Agents
from fabricdoc.bench.order import LaunchOrder
from fabricdoc.bench.outcome import Outcome

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
