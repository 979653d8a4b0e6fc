"""The exchange: who is asked what and when, who gets more rights, and when multicast joins in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.fabric import beacons
from fabricdoc.fabric.beacons import MOST_AT_ONCE, MOST_REPEATS, ROUNDS, _turns, exchange
from fabricdoc.fabric.heard import Heard
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.unit

MAC = "02:00:00:00:00:01"
PORTS = {"alpha": ("p0",), "beta": ("p1",)}
SPECS = [NodeSpec("alpha", "local"), NodeSpec("beta", "local")]
EPERM = {"reason": "Operation not permitted (errno 1)", "errno": 1, "lack": ""}


class FakeNodes:
    """Probes that answer as scripted: `raw` and `multicast` say which nodes may, `deaf` which (listener, sender) hear
    nothing, `mute` which (kind of probe, node, event) is never said. `log` has every (node, message) in order."""

    def __init__(self, *, raw: Sequence[str], multicast: Sequence[str] = (), raised: Sequence[str] = ()) -> None:
        self.raw, self.multicast, self.raised = raw, multicast, raised
        self.deaf: set[tuple[str, str]] = set()
        self.lost = 0
        self.log: list[tuple[str, str, dict[str, Any]]] = []
        self.down: dict[str, NodeError] = {}
        self.mute: set[tuple[str, str, str]] = set()

    def open_some(
        self, nodes: Sequence[NodeSpec], _module: str, *, raised: bool = False, **_more: object
    ) -> tuple[FakeChannels, dict[str, NodeError]]:
        refused = {n.name: NodeError(f"{n.name}: no sudo") for n in nodes if raised and n.name not in self.raised}
        refused |= {n.name: self.down[n.name] for n in nodes if n.name in self.down}
        return FakeChannels(self, [n.name for n in nodes if n.name not in refused], raised), refused


class FakeChannels:
    def __init__(self, nodes: FakeNodes, names: list[str], raised: bool) -> None:
        self.nodes, self.names, self.raised = nodes, tuple(names), raised
        self.kind = "raised" if raised else "plain"
        self.open: dict[str, list[str]] = {name: [] for name in names}
        self.said: list[tuple[str, dict[str, Any]]] = []

    def __enter__(self) -> FakeChannels:
        return self

    def __exit__(self, *_: object) -> None:
        self.nodes.log.append((self.kind, "close", {}))

    def send(self, name: str, message: dict[str, Any]) -> None:
        self.nodes.log.append((self.kind, name, message))
        answer: Callable[[str, dict[str, Any]], dict[str, Any]] = getattr(self, f"_{message['do']}")
        told = answer(name, message)
        if (self.kind, name, told["event"]) not in self.nodes.mute:
            self.said.append((name, told))

    def receive(self, _timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        return self.said.pop(0) if self.said else None

    def _listen(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        return self._ready(name, message, "beacon", self.raised or name in self.nodes.raw)

    def _open(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        return self._ready(name, message, "multicast", name in self.nodes.multicast)

    def _ready(self, name: str, message: dict[str, Any], method: str, works: bool) -> dict[str, Any]:
        self.open[name] += [method] if works else []
        ports = [{"netdev": port, "mac": MAC} for port in message["ports"] if works]
        refused = [{"netdev": port, **EPERM} for port in message["ports"] if not works]
        return {"event": "ready", "ports": ports, "refused": refused}

    def _send(self, _name: str, _message: dict[str, Any]) -> dict[str, Any]:
        return {"event": "sent"}

    def _report(self, name: str, _message: dict[str, Any]) -> dict[str, Any]:
        other = "beta" if name == "alpha" else "alpha"
        senders = [{"node": other, "netdev": PORTS[other][0], "mac": MAC, "count": 6, "near": 2}]
        return {
            "event": "heard",
            "ports": [
                {
                    "netdev": PORTS[name][0],
                    "method": method,
                    "senders": [] if (name, other) in self.nodes.deaf else senders,
                    "lost": self.nodes.lost,
                }
                for method in self.open[name]
                if method == "multicast" or self._speaks_raw(other)
            ],
        }

    def _speaks_raw(self, other: str) -> bool:
        return other in self.nodes.raw or other in self.nodes.raised


def run(monkeypatch: pytest.MonkeyPatch, nodes: FakeNodes) -> Heard:
    monkeypatch.setattr(beacons, "open_some", nodes.open_some)
    return exchange(SPECS, PORTS)


def asked(nodes: FakeNodes, what: str) -> list[tuple[str, str]]:
    return [(kind, name) for kind, name, message in nodes.log if message.get("do") == what]


def test_every_port_listens_before_any_sends_and_both_are_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha", "beta"])
    heard = run(monkeypatch, nodes)
    assert {(one.listener, one.sender, one.method) for one in heard.hearings} == {
        (("alpha", "p0"), ("beta", "p1"), "beacon"),
        (("beta", "p1"), ("alpha", "p0"), "beacon"),
    }
    order = [message.get("do", "close") for _, _, message in nodes.log]
    assert order == ["listen"] * 2 + ["send"] * 2 * ROUNDS + ["report"] * 2 + ["close"]
    assert heard.methods == {}


def test_each_run_has_a_nonce_and_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = FakeNodes(raw=["alpha", "beta"]), FakeNodes(raw=["alpha", "beta"])
    run(monkeypatch, first)
    run(monkeypatch, second)
    requests = [message for nodes in (first, second) for _, _, message in nodes.log if message.get("do") == "listen"]
    assert [len(request["nonce"]) for request in requests] == [16] * 4
    assert len({request["nonce"] for request in requests}) == 2
    assert len({request["key"] for request in requests}) == 2


def test_a_node_without_rights_gets_them_and_no_multicast_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha"], raised=["beta"], multicast=["alpha", "beta"])
    heard = run(monkeypatch, nodes)
    assert asked(nodes, "listen") == [("plain", "alpha"), ("plain", "beta"), ("raised", "beta")]
    assert asked(nodes, "open") == []
    assert {one.method for one in heard.hearings} == {"beacon"}
    assert (heard.methods, heard.rights, heard.refused) == ({}, {}, {})


def test_where_one_node_has_no_rights_all_ports_speak_multicast_too(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha"], multicast=["alpha", "beta"])
    heard = run(monkeypatch, nodes)
    assert asked(nodes, "open") == [("plain", "alpha"), ("plain", "beta")]
    assert {one.method for one in heard.hearings} == {"multicast"}
    assert heard.methods == {("beta", "p1"): "multicast"}
    assert heard.rights == {"beta": "beta: no sudo"}
    assert len(heard.hearings) == 2


def test_where_neither_works_the_port_is_refused_with_both_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = run(monkeypatch, FakeNodes(raw=["alpha"], multicast=["alpha"]))
    assert heard.refused == {
        ("beta", "p1"): "Operation not permitted (errno 1); multicast: Operation not permitted (errno 1)"
    }
    assert list(heard.macs) == [("alpha", "p0")]


def test_one_way_is_tried_again_and_then_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha", "beta"])
    nodes.deaf = {("beta", "alpha")}
    heard = run(monkeypatch, nodes)
    assert len(asked(nodes, "report")) == 2 * (1 + MOST_REPEATS)
    assert [(one.listener[0], one.sender[0]) for one in heard.hearings] == [("alpha", "beta")]


def test_silence_is_tried_again_only_where_frames_were_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    for lost, reports in ((0, 2), (9, 2 * (1 + MOST_REPEATS))):
        nodes = FakeNodes(raw=["alpha", "beta"])
        nodes.deaf, nodes.lost = {("beta", "alpha"), ("alpha", "beta")}, lost
        assert run(monkeypatch, nodes).hearings == []
        assert len(asked(nodes, "report")) == reports


def test_a_node_that_does_not_start_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha", "beta"])
    nodes.down = {"beta": NodeError("beta: no ssh connection to it")}
    heard = run(monkeypatch, nodes)
    assert {name: str(error) for name, error in heard.failed.items()} == {"beta": "beta: no ssh connection to it"}
    assert list(heard.macs) == [("alpha", "p0")]


def test_no_node_at_all_hears_nothing_and_names_each(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=[])
    nodes.down = {name: NodeError(f"{name}: down") for name in PORTS}
    heard = run(monkeypatch, nodes)
    assert (set(heard.failed), heard.hearings, heard.macs) == ({"alpha", "beta"}, [], {})


def test_what_was_heard_of_a_node_that_then_fails_is_no_link_and_no_one_way_cable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beta sends and then never reports: alpha's half proves neither a link nor a broken direction."""
    nodes = FakeNodes(raw=["alpha", "beta"])
    nodes.mute = {("plain", "beta", "heard")}
    monkeypatch.setattr(beacons, "STEP_DEADLINE_S", 0.0)
    heard = run(monkeypatch, nodes)
    assert heard.hearings == []
    assert [(one.listener, one.sender) for one in heard.halves] == [(("alpha", "p0"), ("beta", "p1"))]
    assert heard.failed["beta"].id == "node-timeout"


def test_a_probe_that_had_its_rights_and_then_fails_is_a_failed_node(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = FakeNodes(raw=["alpha"], raised=["beta"])
    nodes.mute = {("raised", "beta", "heard")}
    monkeypatch.setattr(beacons, "STEP_DEADLINE_S", 0.0)
    heard = run(monkeypatch, nodes)
    assert heard.rights == {}
    assert list(heard.failed) == ["beta"]
    assert heard.hearings == []


def test_many_ports_send_in_turns_and_none_is_left_out() -> None:
    names = [f"n{number}" for number in range(40)]
    turns = list(_turns(names, {name: ["p"] * 8 for name in names}))
    assert [name for turn in turns for name in turn] == names
    assert {len(turn) * 8 for turn in turns} == {MOST_AT_ONCE}
    assert list(_turns(["big"], {"big": ["p"] * 999})) == [["big"]]
    assert list(_turns([], {})) == []
