"""One deadline over every wait: the smaller of two counts, and it is over when the block is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fabricdoc.fabric import at_most, rdma_talk, sharing, within
from fabricdoc.fabric.crew import Crew
from fabricdoc.fabric.rdma_answers import Failure
from fabricdoc.fabric.rdma_pairs import End, Pair
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit


def test_outside_a_wait_has_its_own_time() -> None:
    assert at_most(20.0) == 20.0
    with within(1000.0):
        assert at_most(20.0) == 20.0
    assert at_most(3600.0) == 3600.0


def test_inside_no_wait_goes_beyond_it() -> None:
    with within(5.0):
        assert 4.0 < at_most(20.0) <= 5.0
        assert at_most(1.0) == 1.0
        with within(100.0):
            assert at_most(20.0) <= 5.0
        with within(0.0):
            assert at_most(20.0) == 0.0
    assert at_most(20.0) == 20.0


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="x"), within(1.0):
        raise ValueError("x")
    assert at_most(20.0) == 20.0


class Silent:
    names = ("alpha",)

    def __init__(self) -> None:
        self.waited: list[float] = []

    def receive(self, timeout_s: float) -> None:
        self.waited.append(timeout_s)


def test_a_silent_node_is_given_up_when_the_time_is_over() -> None:
    channels = Silent()
    crew = Crew(channels, {}, "the probe")  # type: ignore[arg-type]
    begun = time.monotonic()
    with within(0.0):
        assert crew.answers("ready", ["alpha"], 600.0) == {}
    assert time.monotonic() - begun < 60.0
    assert channels.waited == [0.0]
    assert crew.failed["alpha"].id == "node-timeout"


def test_probes_are_started_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def start(_nodes: Any, _module: str, *, start_deadline_s: float = 0.0, raised: bool = False) -> Any:
        asked.append(start_deadline_s)
        return Silent(), {}

    monkeypatch.setattr(sharing, "start_some", start)
    spec = NodeSpec("alpha", "local")
    with within(7.0):
        sharing.open_some([spec], "beacon")
    sharing.open_some([spec], "beacon")
    assert 6.0 < asked[0] <= 7.0
    assert asked[1] == 20.0


def test_the_rdma_ping_keeps_to_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rdma_talk, "ping_limit", lambda _name: 600.0)
    channels = Silent()
    talk = rdma_talk.Talk(channels)  # type: ignore[arg-type]
    with within(0.0):
        talk.greet()
    assert channels.waited == [0.0]
    assert talk.lost["alpha"].id == "node-timeout"
    with within(0.0):
        (found,) = talk.run([[rdma_pair()]])
    assert found.failures == [Failure("silent", 0, rdma_talk.NOT_BEGUN)] * 2


def rdma_pair() -> Pair:
    ends = [End(node, "p0", "hca0", 1, 3, f"::ffff:10.0.0.{at}") for at, node in enumerate(("alpha", "beta"))]
    return Pair(7, *ends)
