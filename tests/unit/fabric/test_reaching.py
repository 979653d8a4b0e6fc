"""The conversation with the reach probes: who opens what, asks and dials whom, and words that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import NodeError
from fabricdoc.fabric import reaching
from fabricdoc.fabric.reaching import Plan, converse, with_reach
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, netdev, node

pytestmark = pytest.mark.unit

SPECS = [NodeSpec(name, "local", ports=("p0", "p1")) for name in ("alpha", "beta")]


class Pretend:
    """Two probes: everything opens, and every question and call comes out as `arrived` and `outcome` say."""

    def __init__(self, *, arrived: bool = True, outcome: str = "connected", **changes: Any) -> None:
        self.names = ("alpha", "beta")
        self.arrived, self.outcome, self.changes = arrived, outcome, changes
        self.opened: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, dict[str, Any]] = {}
        self.ended = False

    def __enter__(self) -> Pretend:
        return self

    def __exit__(self, *_words: object) -> None:
        pass

    def send(self, name: str, message: dict[str, Any]) -> None:
        {"open": self.opened, "try": self.tried}[message["do"]][name] = message

    def broadcast(self, message: dict[str, Any]) -> None:
        self.ended = message == {"do": "end"}

    def gather(self, event: str, timeout_s: float, what: str) -> Mapping[str, Any]:
        assert timeout_s <= 30
        assert what == "the reach probe"
        told = {name: self._ready(name) if event == "ready" else self._tried(name) for name in self.names}
        return self.changes.get(event, told)

    def _ready(self, name: str) -> dict[str, Any]:
        opened = self.opened[name]
        ears = [{**one, "port": 40000 + number} for number, one in enumerate(opened["ears"])]
        listeners = [
            {"ip": one["ip"], "wanted": one["port"], "port": one["port"] or 50000 + number}
            for number, one in enumerate(opened["listen"])
        ]
        return {"ears": ears, "listeners": listeners, "refused": self.changes.get("refused", []), "deaf": []}

    def _tried(self, name: str) -> dict[str, Any]:
        tried = self.tried[name]
        answer = {"arrived": self.arrived, "came_in_by": "", "reason": ""}
        dials = [{**one, "outcome": self.outcome, "reason": "why"} for one in tried["dials"]]
        return {"asks": [{**one, **answer} for one in tried["asks"]], "dials": dials}


def reached(monkeypatch: pytest.MonkeyPatch, fabric: Fabric | None = None, **how: Any) -> tuple[Pretend, Fabric]:
    channels = Pretend(**how)
    monkeypatch.setattr(reaching, "open_channels", lambda _specs, _module: channels)
    return channels, with_reach(SPECS, fabric or crossed_pair(), lambda _line: None)


def test_each_node_opens_what_the_others_try(monkeypatch: pytest.MonkeyPatch) -> None:
    channels, fabric = reached(monkeypatch)
    alpha, beta = channels.opened["alpha"], channels.opened["beta"]
    assert alpha["ears"] == [{"netdev": "p0", "ip": "10.77.0.1"}, {"netdev": "p1", "ip": "10.77.1.1"}]
    assert alpha["listen"] == [{"ip": "10.77.0.1", "port": 0}, {"ip": "10.77.0.1", "port": 29500}]
    assert beta["listen"] == [{"ip": "10.77.0.2", "port": 0}]
    assert (len(alpha["key"]), alpha["key"], alpha["nonce"]) == (64, beta["key"], beta["nonce"])
    asks = channels.tried["alpha"]["asks"]
    assert asks[:2] == [
        {"netdev": "p0", "ip": "10.77.0.1", "to_ip": "10.77.0.2", "to_port": 40000, "size": 56},
        {"netdev": "p0", "ip": "10.77.0.1", "to_ip": "10.77.0.2", "to_port": 40000, "size": 8972},
    ]
    assert channels.tried["beta"]["dials"] == [
        {"ip": "10.77.0.1", "port": 50000},
        {"ip": "10.77.0.1", "port": 29500},
    ]
    assert channels.ended
    assert isinstance(fabric.links, tuple)
    assert [one.method for link in fabric.links for one in link.more_proofs] == ["ping", "ping"]
    assert fabric.findings == ()


def test_the_smaller_mtu_decides_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    alpha, beta = crossed_pair().nodes
    small = (netdev("p0", ip="10.77.1.2"), netdev("p1", ip="10.77.0.2", mtu=1500))
    fabric = crossed_pair().model_copy(update={"nodes": (alpha, beta.model_copy(update={"netdevs": small}))})
    channels, _ = reached(monkeypatch, fabric)
    assert [one["size"] for one in channels.tried["alpha"]["asks"]] == [56, 1472, 56, 8972]


def test_an_unknown_or_tiny_mtu_asks_one_size(monkeypatch: pytest.MonkeyPatch) -> None:
    blank = netdev("p0", ip="10.77.0.1").model_copy(update={"mtu": Unknown(unknown="x")})
    nodes = (node("alpha", netdevs=[blank]), node("beta", netdevs=[netdev("p1", ip="10.77.0.2")]))
    channels, _ = reached(monkeypatch, crossed_pair().model_copy(update={"nodes": nodes}))
    assert [one["size"] for one in channels.tried["alpha"]["asks"]] == [56]


def test_what_did_not_open_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"ears": [], "listeners": [], "refused": [], "deaf": []}
    channels, fabric = reached(monkeypatch, ready={"alpha": nothing, "beta": nothing})
    assert channels.tried["alpha"] == {"do": "try", "asks": [], "dials": []}
    assert fabric.links == crossed_pair().links


def test_blocked_ports_and_taken_ones_become_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {"ip": "10.77.0.1", "port": 29500, "taken": True, "owner": "python3 (pid 7)", "reason": "in use"}
    elsewhere = {**taken, "ip": "10.77.0.9", "taken": False}
    _, fabric = reached(monkeypatch, outcome="timed-out", refused=[taken, elsewhere])
    ids = [(one.id, one.subject) for one in fabric.findings]
    assert ids[:2] == [
        ("bootstrap-port-blocked", "alpha -> beta 10.77.0.2"),
        ("bootstrap-port-blocked", "beta -> alpha 10.77.0.1"),
    ]
    assert ids[2:] == [("rendezvous-port-taken", f"{name} 10.77.0.1:29500") for name in ("alpha", "beta")]


def test_a_probe_that_fails_is_said_and_the_map_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_words: object) -> None:
        raise NodeError("beta: no python3", fix="install it")

    monkeypatch.setattr(reaching, "open_channels", fails)
    fabric = with_reach(SPECS, crossed_pair(), lambda _line: None)
    assert fabric.links == crossed_pair().links
    (finding,) = fabric.findings
    assert (finding.id, finding.severity, finding.fix) == ("reach-not-tried", "info", ("install it",))
    assert finding.evidence[0].text == "beta: no python3"


def test_nothing_to_try_starts_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "open_channels", lambda *_words: pytest.fail("started"))
    bare = crossed_pair().model_copy(update={"links": Unknown(unknown="x")})
    specs = [NodeSpec(name, "local") for name in ("alpha", "beta")]
    assert with_reach(specs, bare, lambda _line: None) is bare
    assert with_reach([], bare, lambda _line: None) is bare


WORD = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
JSON = st.recursive(
    WORD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["ears", "listeners", "refused", "asks", "dials", "netdev", "ip", "port", "wanted", "taken"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(JSON, st.sampled_from(["ready", "tried"]))
def test_any_words_of_a_node_are_read_or_refused(said: Any, event: str) -> None:
    plan = Plan(head="alpha", rendezvous=29500)
    channels = Pretend(**{event: {"alpha": said, "beta": said}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "open_channels", lambda _specs, _module: channels)
        patch.setattr(Plan, "openings", lambda _self: {name: {"ears": [], "listen": []} for name in channels.names})
        try:
            converse(SPECS, plan)
        except NodeError as error:
            assert error.id == "probe-failed"


def test_more_answers_than_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"arrived": True, "came_in_by": "", "reason": ""}
    _, fabric = reached(monkeypatch, tried={"alpha": {"asks": [answer] * 50, "dials": []}, "beta": {}})
    assert [one.id for one in fabric.findings] == ["reach-not-tried"]


def test_the_plan_of_many_nodes_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened is found in one pass, however many nodes there are."""
    plan = Plan(head="alpha", rendezvous=29500)
    calls: list[int] = []
    monkeypatch.setattr(Plan, "dials", lambda _self: calls.append(1) or iter(()))
    plan.openings()
    assert calls == [1]
