"""A scan in the pythons of the cables: answers in order, nodes that fail or hang told, the others' answers kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric import SharedScan, one_python, scan, sharing
from fabricdoc.fabric.sharing import open_shared, open_some
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit

SPECS = [NodeSpec(name, "local") for name in ("alpha", "beta")]
Said = tuple[str, dict[str, Any]]


class Fake:
    """`transport.open_some`: nodes that answer a scan with their name, unless they hang or go away."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, float]] = []
        self.down: dict[str, NodeError] = {}
        self.hangs: set[str] = set()
        self.gone: set[str] = set()
        self.sent: list[Said] = []
        self.said: list[Said] = []
        self.names: tuple[str, ...] = ()
        self.closed = 0

    def open_some(
        self, nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float = 20, raised: bool = False
    ) -> tuple[Fake, dict[str, NodeError]]:
        self.opened.append((module, start_deadline_s))
        self.names = tuple(node.name for node in nodes if node.name not in self.down)
        return self, dict(self.down)

    def send(self, name: str, message: dict[str, Any]) -> None:
        self.sent.append((name, message))
        if message["do"] == "scan" and name in self.gone:
            self.said.append((name, {"event": "closed", "message": f"{name}: gone", "id": "node-closed", "fix": "x"}))
        elif message["do"] == "scan" and name not in self.hangs:
            self.said.append((name, {"event": "result", "report": {"of": name}}))
            self.said.append((name, {"event": "ended", "probe": "scan", "status": 0}))

    def receive(self, timeout_s: float) -> Said | None:
        return self.said.pop(0) if self.said else None

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(sharing, "start_some", made.open_some)
    return made


@pytest.fixture
def answers(fake: Fake) -> Iterator[Any]:
    with one_python():
        yield lambda: SharedScan(SPECS, deadline_s=10.0, cuda=False, hashed=True).answers()


def test_every_node_answers_in_its_place(fake: Fake, answers: Any) -> None:
    alpha, beta = answers()
    assert [(one.node.name, one.message["report"]["of"], one.error) for one in (alpha, beta)] == [
        ("alpha", "alpha", None),
        ("beta", "beta", None),
    ]
    assert alpha.seconds < 10
    assert abs(alpha.asked_at - time.time()) < 60
    assert fake.opened == [("several", pytest.approx(6.0))]
    request = next(message for name, message in fake.sent if name == "alpha" and message["do"] == "scan")
    assert (request["cuda"], request["hash"]) == (False, True)
    assert 0 < request["deadline_s"] <= 7.0


def test_the_cables_take_the_same_pythons(fake: Fake) -> None:
    with one_python():
        SharedScan(SPECS, deadline_s=10.0).answers()
        with sharing.sharing():
            open_some(SPECS, "beacon")
        assert fake.closed == 0
    assert [module for module, _ in fake.opened] == ["several"]
    assert fake.closed == 1


def test_a_node_that_does_not_start_costs_only_itself(fake: Fake, answers: Any) -> None:
    fake.down["alpha"] = NodeError("alpha: no route", id="ssh-failed", fix="mend it")
    alpha, beta = answers()
    assert (alpha.error.id, alpha.message) == ("ssh-failed", None)
    assert beta.message["report"] == {"of": "beta"}


def test_a_node_that_goes_away_is_told_with_its_own_words(fake: Fake, answers: Any) -> None:
    fake.gone.add("beta")
    alpha, beta = answers()
    assert alpha.error is None
    assert (beta.error.id, beta.error.message) == ("node-closed", "beta: gone")


def test_a_node_that_hangs_is_given_up_and_nobody_waits_for_its_end(fake: Fake) -> None:
    fake.hangs.add("beta")
    begun = time.monotonic()
    with one_python():
        alpha, beta = SharedScan(SPECS, deadline_s=10.0).answers()
        assert open_shared(SPECS, "scan", start_deadline_s=1.0)[0].names == ("alpha",)
    assert alpha.error is None
    assert beta.error is not None
    assert beta.error.id == "node-timeout"
    assert time.monotonic() - begun < 60
    assert [message["do"] for name, message in fake.sent if name == "beta"] == ["begin", "scan"]


def test_all_hang(fake: Fake, answers: Any) -> None:
    fake.hangs |= {"alpha", "beta"}
    assert [one.error.id for one in answers()] == ["node-timeout"] * 2


def test_outside_there_is_no_python_to_share() -> None:
    with pytest.raises(RuntimeError):
        SharedScan(SPECS, deadline_s=1.0)
    with one_python(), pytest.raises(RuntimeError):
        open_shared(SPECS, "settings", start_deadline_s=1.0)


@pytest.mark.long
def test_this_machine_is_read_alike_both_ways() -> None:
    spec = NodeSpec("local", "local")
    with one_python():
        (shared,) = scan([spec], begun=SharedScan([spec], deadline_s=60.0), judge=False).nodes
    (own,) = scan([spec], deadline_s=60.0, judge=False).nodes
    for field in ("hostname", "kernel", "machine_id", "memory_total"):
        assert getattr(shared.host, field) == getattr(own.host, field)
    assert shared.netdevs == own.netdevs
    assert isinstance(shared.clock_offset_s, float)
