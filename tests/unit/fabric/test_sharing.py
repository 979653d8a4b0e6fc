"""Turns of several probes in one python a node: begun in order, heard apart, and one that fails costs only itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric import sharing as room
from fabricdoc.fabric.sharing import Host, Turn, open_some, sharing
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit

SPECS = [NodeSpec(name, "local") for name in ("alpha", "beta")]
Said = tuple[str, dict[str, Any]]


class Fake:
    """`transport.open_some` and the pythons it starts: at `end` each says that its probe has ended, unless it hangs."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, list[str], bool]] = []
        self.down: dict[str, NodeError] = {}
        self.hangs: set[str] = set()
        self.gone: set[str] = set()
        self.sent: list[Said] = []
        self.said: list[Said] = []
        self.closed = 0
        self.waited = 0
        self.names: tuple[str, ...] = ()

    def open_some(
        self, nodes: Sequence[NodeSpec], module: str, *, start_deadline_s: float = 20, raised: bool = False
    ) -> tuple[Fake, dict[str, NodeError]]:
        self.opened.append((module, [node.name for node in nodes], raised))
        self.names = tuple(node.name for node in nodes if node.name not in self.down)
        return self, dict(self.down)

    def send(self, name: str, message: dict[str, Any]) -> None:
        if name in self.gone:
            raise NodeError(f"{name}: gone", id="node-closed")
        self.sent.append((name, message))
        if message["do"] == "end" and name not in self.hangs:
            self.said.append((name, {"event": "ended", "probe": "x", "status": 0}))

    def receive(self, _timeout_s: float) -> Said | None:
        self.waited += not self.said
        return self.said.pop(0) if self.said else None

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(room, "start_some", made.open_some)
    monkeypatch.setattr(room, "END_S", 0.05)
    return made


def test_three_probes_take_one_start_and_are_begun_in_turn(fake: Fake) -> None:
    with sharing():
        for module in ("beacon", "rdma_ping", "reach"):
            turn, failed = open_some(SPECS, module)
            with turn:
                assert (turn.names, failed) == (("alpha", "beta"), {})
                turn.send("alpha", {"do": module})
    assert fake.opened == [("several", ["alpha", "beta"], False)]
    assert [message for name, message in fake.sent if name == "alpha"] == [
        {"do": "begin", "probe": "beacon"},
        {"do": "beacon"},
        {"do": "end"},
        {"do": "begin", "probe": "rdma_ping"},
        {"do": "rdma_ping"},
        {"do": "end"},
        {"do": "begin", "probe": "reach"},
        {"do": "reach"},
        {"do": "end"},
    ]
    assert fake.closed == 1


def test_the_end_of_a_probe_is_not_waited_for_when_all_nodes_have_said_it(fake: Fake) -> None:
    with sharing():
        for module in ("beacon", "reach"):
            open_some(SPECS, module)[0].close()
    assert fake.waited == 0


def test_outside_and_for_other_probes_each_is_started_by_itself(fake: Fake) -> None:
    open_some(SPECS, "beacon")
    with sharing():
        open_some(SPECS, "beacon", raised=True)
        open_some(SPECS, "lldp")
    assert fake.opened == [
        ("beacon", ["alpha", "beta"], False),
        ("beacon", ["alpha", "beta"], True),
        ("lldp", ["alpha", "beta"], False),
    ]


def test_a_node_that_is_reached_another_way_has_a_start_of_its_own(fake: Fake) -> None:
    boxed = [NodeSpec("alpha", "local", container="serving"), SPECS[1]]
    with sharing():
        open_some(SPECS, "beacon")[0].close()
        open_some(boxed, "rdma_ping")
        open_some(SPECS[:1], "reach")
    assert [module for module, _names, _raised in fake.opened] == ["several", "rdma_ping"]


def test_a_node_that_did_not_start_is_told_to_every_step_and_asked_nothing(fake: Fake) -> None:
    fake.down = {"beta": NodeError("beta: no ssh connection")}
    with sharing():
        for module in ("beacon", "reach"):
            turn, failed = open_some(SPECS, module)
            turn.close()
            assert (turn.names, {name: str(error) for name, error in failed.items()}) == (
                ("alpha",),
                {"beta": "beta: no ssh connection"},
            )
    assert {name for name, _message in fake.sent} == {"alpha"}


def test_what_is_left_of_the_probe_before_is_not_heard_by_the_next(fake: Fake) -> None:
    host = Host()
    first, _ = host.begin(SPECS, "beacon")
    fake.said = [("alpha", {"event": "late"}), ("beta", {"event": "late"})]
    first.close()
    second, _ = host.begin(SPECS, "reach")
    fake.said.append(("alpha", {"event": "ready"}))
    assert second.receive(0.01) == ("alpha", {"event": "ready"})
    assert second.receive(0.01) is None


def test_a_probe_that_does_not_end_has_failed_and_takes_no_part_in_the_next(fake: Fake) -> None:
    fake.hangs = {"beta"}
    host = Host()
    host.begin(SPECS, "beacon")[0].close()
    turn, failed = host.begin(SPECS, "reach")
    assert turn.names == ("alpha",)
    assert str(failed["beta"]) == "beta: the beacon probe did not answer in 0 s"
    with pytest.raises(NodeError, match="did not answer"):
        turn.send("beta", {"do": "open"})


def test_a_python_that_ends_is_told_once_to_who_listens_and_then_known(fake: Fake) -> None:
    host = Host()
    turn, _ = host.begin(SPECS, "beacon")
    closed = {"event": "closed", "id": "node-lost", "message": "beta: the connection broke", "fix": "look"}
    fake.said = [("beta", closed)]
    assert turn.receive(0.01) == ("beta", closed)
    turn.close()
    _, failed = host.begin(SPECS, "reach")
    assert (str(failed["beta"]), failed["beta"].fix) == ("beta: the connection broke", "look")


def test_a_probe_that_has_ended_takes_no_message(fake: Fake) -> None:
    host = Host()
    turn, _ = host.begin(SPECS, "rdma_ping")
    fake.said = [("alpha", {"event": "ended", "probe": "rdma_ping", "status": 0}), ("beta", {"event": "able"})]
    assert turn.receive(0.01) == ("beta", {"event": "able"}), "that one has ended is no answer"
    with pytest.raises(NodeError, match="has ended"):
        turn.send("alpha", {"do": "open"})
    fake.gone = {"beta"}
    with pytest.raises(NodeError, match="gone"):
        turn.send("beta", {"do": "open"})


def test_a_host_that_never_began_is_closed_without_a_word(fake: Fake) -> None:
    with sharing():
        pass
    host = Host()
    assert host.receive(0.0) is None
    assert Turn(host, (), "beacon").receive(0.0) is None
    assert fake.opened == []
