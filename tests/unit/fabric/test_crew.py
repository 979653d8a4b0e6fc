"""Many probes asked together: one that dies or stays silent costs only itself."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric.crew import Crew
from fabricdoc.transport import Channels

pytestmark = pytest.mark.unit


class FakeChannels:
    """Channels that say what they were given, then nothing; `dead` nodes take no message."""

    def __init__(self, said: list[tuple[str, dict[str, Any]]], dead: tuple[str, ...] = ()) -> None:
        self.names = ("alpha", "beta", "gamma")
        self.said, self.dead = said, dead
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def send(self, name: str, message: dict[str, Any]) -> None:
        if name in self.dead:
            raise NodeError(f"{name}: gone", id="node-closed")
        self.sent.append((name, message))

    def receive(self, _timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        return self.said.pop(0) if self.said else None


def crew(*said: tuple[str, dict[str, Any]], dead: tuple[str, ...] = ()) -> tuple[Crew, FakeChannels]:
    channels = FakeChannels(list(said), dead)
    return Crew(cast(Channels, channels), {}, "the beacon probe"), channels


CLOSED = {"event": "closed", "status": 1, "stderr": "", "id": "probe-failed", "message": "beta: it fell", "fix": "look"}


def test_answers_are_by_node_and_other_events_are_passed_over() -> None:
    one, _ = crew(("beta", {"event": "sent"}), ("alpha", {"event": "ready"}), ("beta", {"event": "ready", "n": 2}))
    assert one.answers("ready", ["alpha", "beta"], 1.0) == {
        "alpha": {"event": "ready"},
        "beta": {"event": "ready", "n": 2},
    }
    assert one.failed == {}


def test_a_probe_that_ends_is_left_out_with_its_reason_and_the_others_stand() -> None:
    one, channels = crew(("beta", CLOSED), ("alpha", {"event": "sent"}), ("gamma", {"event": "sent"}))
    assert set(one.answers("sent", one.names, 1.0)) == {"alpha", "gamma"}
    assert (str(one.failed["beta"]), one.failed["beta"].fix) == ("beta: it fell", "look")
    assert one.names == ("alpha", "gamma")
    one.tell({name: {"do": "report"} for name in ("alpha", "beta")})
    assert [name for name, _ in channels.sent] == ["alpha"]


def test_a_silent_probe_is_given_up_by_name() -> None:
    one, _ = crew(("alpha", {"event": "sent"}))
    assert set(one.answers("sent", one.names, 0.0)) == {"alpha"}
    assert str(one.failed["gamma"]) == "gamma: the beacon probe did not answer in 0 s"
    assert one.failed["beta"].id == "node-timeout"


def test_a_probe_that_takes_no_message_is_not_waited_for() -> None:
    one, channels = crew(("alpha", {"event": "sent"}), dead=("beta", "gamma"))
    one.tell({name: {"do": "send"} for name in one.names})
    assert one.answers("sent", ["alpha", "beta", "gamma"], 60.0) == {"alpha": {"event": "sent"}}
    assert [name for name, _ in channels.sent] == ["alpha"]
    assert set(one.failed) == {"beta", "gamma"}


def test_all_having_ended_is_no_exception() -> None:
    one, channels = crew()

    def ended(_timeout_s: float) -> None:
        raise NodeError("all ended", id="node-closed")

    channels.receive = ended  # type: ignore[method-assign]
    assert one.answers("sent", one.names, 1.0) == {}
    assert set(one.failed) == {"alpha", "beta", "gamma"}
