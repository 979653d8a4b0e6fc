"""The conversation with the reach probes: who opens what, asks and dials whom, and words that are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.fabric import reaching
from fabricdoc.fabric.reaching import MOST_DIALS, Plan, check_ports, converse, with_reach
from fabricdoc.fabric.ways import Place, Way
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Link, Netdev
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, link, netdev, node

pytestmark = pytest.mark.unit

SPEC_NAMES = ("alpha", "beta")
SPECS = [NodeSpec(name, "local", ports=("p0", "p1")) for name in SPEC_NAMES]


class Pretend:
    """Probes: everything opens, and every question and call comes out as `arrived` and `outcome` say.

    `ready` and `tried` replace what nodes answer there (None: a node is silent, an error: its probe ended), `absent`
    are nodes whose probe did not start.
    """

    def __init__(self, *, arrived: bool = True, outcome: str = "connected", **changes: Any) -> None:
        self.absent: dict[str, NodeError] = changes.pop("absent", {})
        self.names = tuple(name for name in changes.pop("names", ("alpha", "beta")) if name not in self.absent)
        self.arrived, self.outcome, self.changes = arrived, outcome, changes
        self.opened: dict[str, dict[str, Any]] = {}
        self.tried: dict[str, dict[str, Any]] = {}
        self.ended: list[str] = []
        self.said: list[tuple[str, dict[str, Any]]] = []

    def __enter__(self) -> Pretend:
        return self

    def __exit__(self, *_words: object) -> None:
        pass

    def send(self, name: str, message: dict[str, Any]) -> None:
        if message["do"] == "end":
            self.ended.append(name)
            return
        event = {"open": "ready", "try": "tried"}[message["do"]]
        (self.opened if event == "ready" else self.tried)[name] = message
        changed = self.changes.get(event, {})
        told = changed[name] if name in changed else (self._ready(name) if event == "ready" else self._tried(name))
        if isinstance(told, NodeError):
            closed = {"event": "closed", "id": told.id, "message": told.message, "fix": told.fix}
            self.said.append((name, closed))
        elif told is not None:
            self.said.append((name, {**told, "event": event} if isinstance(told, dict) else {"event": event}))

    def receive(self, timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        assert timeout_s <= 30
        return self.said.pop(0) if self.said else None

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


def links_of(fabric: Fabric) -> tuple[Link, ...]:
    assert not isinstance(fabric.links, Unknown)
    return fabric.links


def reached(monkeypatch: pytest.MonkeyPatch, fabric: Fabric | None = None, **how: Any) -> tuple[Pretend, Fabric]:
    channels = Pretend(**how)
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, dict(channels.absent)))
    return channels, with_reach(SPECS, fabric or crossed_pair(), lambda _line: None)


def test_each_node_opens_what_the_others_try(monkeypatch: pytest.MonkeyPatch) -> None:
    channels, fabric = reached(monkeypatch)
    alpha, beta = channels.opened["alpha"], channels.opened["beta"]
    assert alpha["ears"] == [{"netdev": "p0", "ip": "10.77.0.1"}, {"netdev": "p1", "ip": "10.77.1.1"}]
    assert alpha["listen"] == [{"ip": "10.77.0.1", "port": 0}, {"ip": "10.77.0.1", "port": 29500}]
    assert beta["listen"] == [{"ip": "10.77.0.2", "port": 0}, {"ip": "10.77.0.2", "port": 29500}]
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
    assert channels.ended == ["alpha", "beta"]
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
    elsewhere = {**taken, "ip": "10.77.0.9", "port": 0, "taken": False}
    _, fabric = reached(monkeypatch, outcome="timed-out", refused=[taken, elsewhere])
    ids = [(one.id, one.subject) for one in fabric.findings]
    assert ids[:2] == [
        ("bootstrap-port-blocked", "alpha -> beta 10.77.0.2"),
        ("bootstrap-port-blocked", "beta -> alpha 10.77.0.1"),
    ]
    assert ids[2:] == [("rendezvous-port-taken", f"{name} 10.77.0.1:29500") for name in ("alpha", "beta")]


def ring() -> tuple[list[NodeSpec], Fabric]:
    """Three nodes, each with a cable and a subnet to each other one."""
    nodes = (
        node("alpha", netdevs=[netdev("p0", ip="10.77.0.1"), netdev("p1", ip="10.77.1.1")]),
        node("beta", netdevs=[netdev("p0", ip="10.77.2.2"), netdev("p1", ip="10.77.0.2")]),
        node("gamma", netdevs=[netdev("p0", ip="10.77.1.3"), netdev("p1", ip="10.77.2.3")]),
    )
    ends = ((("alpha", "p0"), ("beta", "p1")), (("alpha", "p1"), ("gamma", "p0")), (("beta", "p0"), ("gamma", "p1")))
    links = tuple(link((*a, None), (*b, None)) for a, b in ends)
    fabric = crossed_pair().model_copy(update={"nodes": nodes, "links": links})
    return [NodeSpec(one.name, "local", ports=("p0", "p1")) for one in nodes], fabric


def test_a_probe_that_does_not_start_is_a_failed_node_and_the_map_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = NodeError("beta: no python3", fix="install it", id="python-missing")
    _, fabric = reached(monkeypatch, absent={"beta": gone})
    assert [(one.proof, one.more_proofs) for one in links_of(fabric)] == [
        (one.proof, ()) for one in links_of(crossed_pair())
    ]
    (finding,) = fabric.findings
    assert (finding.id, finding.severity, finding.subject, finding.fix) == (
        "reach-not-tried",
        "info",
        "beta",
        ("install it",),
    )
    assert finding.evidence[0].text == "beta: no python3"
    assert [(one.name, one.id, one.fix) for one in fabric.failed] == [("beta", "python-missing", "install it")]


@pytest.mark.parametrize("at", ["ready", "tried"])
@pytest.mark.parametrize("how", ["dies", "is silent", "talks nonsense"])
def test_one_of_three_that_fails_costs_only_what_leads_to_it(
    monkeypatch: pytest.MonkeyPatch, at: str, how: str
) -> None:
    """Nothing is said to be blocked because the one that should have listened is gone."""
    ways = {"dies": NodeError("beta: it fell", fix="look", id="probe-failed"), "is silent": None, "talks nonsense": 3}
    specs, ringed = ring()
    channels = Pretend(names=("alpha", "beta", "gamma"), **{at: {"beta": ways[how]}})
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
    monkeypatch.setattr(reaching, "OPEN_S", 0.2)
    monkeypatch.setattr(reaching, "TRY_S", 0.2)
    real = channels._tried

    def cut_off(name: str) -> dict[str, Any]:
        """What is asked of beta comes to nothing."""
        told = real(name)
        for one in told["dials"]:
            one["outcome"] = "timed-out" if one["ip"] in ("10.77.0.2", "10.77.2.2") else "connected"
        return told

    monkeypatch.setattr(channels, "_tried", cut_off)
    fabric = with_reach(specs, ringed, lambda _line: None)
    assert [(one.id, one.subject) for one in fabric.findings] == [("reach-not-tried", "beta")]
    assert [one.name for one in fabric.failed] == ["beta"]
    proofs = {(one.a.node, one.b.node): [more.method for more in one.more_proofs] for one in links_of(fabric)}
    assert proofs["alpha", "gamma"] == ["ping"]
    assert proofs["beta", "gamma"] in ([], ["ping"])


def test_a_probe_that_ends_once_it_has_told_all_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    channels = Pretend()
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
    plain = channels.send

    def ending(name: str, message: dict[str, Any]) -> None:
        plain(name, message)
        if message["do"] == "try":
            channels.said.insert(1, ("alpha", {"event": "closed", "id": "x", "message": "alpha: ended", "fix": ""}))

    monkeypatch.setattr(channels, "send", ending)
    fabric = with_reach(SPECS, crossed_pair(), lambda _line: None)
    assert fabric.failed == ()
    assert fabric.findings == ()


def test_nothing_to_try_starts_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "open_some", lambda *_words: pytest.fail("started"))
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


@pytest.mark.long
@given(JSON, st.sampled_from(["ready", "tried"]))
def test_any_words_of_a_node_are_read_or_its_failure(said: Any, event: str) -> None:
    plan = Plan(ports=(29500,))
    channels = Pretend(**{event: {"alpha": said, "beta": said}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
        patch.setattr(reaching, "OPEN_S", 0.0)
        patch.setattr(reaching, "TRY_S", 0.0)
        patch.setattr(Plan, "openings", lambda _self: {name: {"ears": [], "listen": []} for name in SPEC_NAMES})
        found = converse(SPECS, plan)
    assert {error.id for error in found.failed.values()} <= {"probe-failed", "node-timeout"}


def test_more_answers_than_questions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"arrived": True, "came_in_by": "", "reason": ""}
    _, fabric = reached(monkeypatch, tried={"alpha": {"asks": [answer] * 50, "dials": []}, "beta": {"asks": []}})
    assert [(one.id, one.subject) for one in fabric.findings] == [("reach-not-tried", "alpha, beta")]
    assert {one.id for one in fabric.failed} == {"probe-failed"}


def test_the_plan_of_many_nodes_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened is found in one pass, however many nodes there are."""
    plan = Plan(ports=(29500,))
    calls: list[int] = []
    monkeypatch.setattr(Plan, "dials", lambda _self: calls.append(1) or iter(()))
    plan.openings()
    assert calls == [1]


# --- the launcher's ports --------------------------------------------------------------------------------------------


def test_the_ports_of_the_launcher_are_tried_both_ways_besides_one_of_the_ephemeral_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channels = Pretend()
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
    fabric = with_reach(SPECS, crossed_pair(), lambda _line: None, ports=[5600, 29501, 5600])
    for name, ip in (("alpha", "10.77.0.1"), ("beta", "10.77.0.2")):
        assert channels.opened[name]["listen"] == [{"ip": ip, "port": port} for port in (0, 5600, 29501)]
    assert [one["port"] for one in channels.tried["alpha"]["dials"]] == [50000, 5600, 29501]
    assert [one["port"] for one in channels.tried["beta"]["dials"]] == [50000, 5600, 29501]
    assert fabric.findings == ()


def test_one_port_that_is_closed_among_open_ones_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    channels = Pretend()
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
    real = channels._tried

    def closed(name: str) -> dict[str, Any]:
        told = real(name)
        for one in told["dials"]:
            one["outcome"] = "timed-out" if (name, one["port"]) == ("beta", 5600) else "connected"
        return told

    monkeypatch.setattr(channels, "_tried", closed)
    (finding,) = with_reach(SPECS, crossed_pair(), lambda _line: None, ports=[5600, 29501]).findings
    assert (finding.id, finding.subject) == ("bootstrap-port-blocked", "beta -> alpha 10.77.0.1")
    texts = [one.text for one in finding.evidence]
    assert "to 10.77.0.1:5600 (the rendezvous port) got no answer" in texts[1]
    assert "10.77.0.1:29501 (the rendezvous port) connected" in texts[2]


def test_a_port_that_can_not_be_opened_is_said_to_be_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    low = {"ip": "10.77.0.1", "port": 80, "taken": False, "owner": "", "reason": "Permission denied (errno 13)"}
    channels = Pretend(refused=[low, {**low, "ip": "10.0.0.9"}])
    monkeypatch.setattr(reaching, "open_some", lambda _specs, _module: (channels, {}))
    found = with_reach(SPECS, crossed_pair(), lambda _line: None, ports=[80]).findings
    assert [(one.id, one.severity, one.subject) for one in found] == [
        ("reach-not-tried", "info", "alpha port 80"),
        ("reach-not-tried", "info", "beta port 80"),
    ]
    assert found[0].evidence[0].text == "tcp port 80: Permission denied (errno 13)"


@pytest.mark.parametrize("ports", [[0], [65536], [-1], list(range(1, 10))])
def test_what_is_no_port_or_too_many_is_wrong_usage(ports: list[int]) -> None:
    with pytest.raises(UsageError, match="1 to 65535, at most 8"):
        check_ports(ports)


def test_without_a_port_it_is_torchs_own() -> None:
    assert check_ports([]) == (29500,)
    assert check_ports([7, 7, 8]) == (7, 8)


def test_no_node_dials_more_than_its_probe_takes() -> None:
    nodes = [NodeSpec(f"n{number}", "local") for number in range(100)]
    ways = [
        Way(
            Place("n0", "p0", "10.0.0.1", "10.0.0.0/16", 1500), Place(spec.name, "p0", f"10.0.1.{at}", "", 1500), "link"
        )
        for at, spec in enumerate(nodes[1:], start=1)
    ]
    dials = list(Plan(ways=ways, ports=(1, 2, 3, 4)).dials())
    assert len(dials) == MOST_DIALS
    assert [port for _way, port in dials[:6]] == [0, 1, 2, 3, 4, 0]


def test_ports_that_have_only_ipv6_are_tried_by_it_with_its_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    def six(name: str, ip: str) -> Netdev:
        address = Address(ip=ip, prefix=64, family="ipv6")
        return netdev(name).model_copy(update={"addresses": (address,)})

    nodes = (node("alpha", netdevs=[six("p0", "fd00:1::1")]), node("beta", netdevs=[six("p1", "fd00:1::2")]))
    link_ = link(("alpha", "p0", None), ("beta", "p1", None))
    fabric = crossed_pair().model_copy(update={"nodes": nodes, "links": (link_,)})
    channels, found = reached(monkeypatch, fabric)
    assert channels.opened["alpha"]["ears"] == [{"netdev": "p0", "ip": "fd00:1::1"}]
    assert [one["size"] for one in channels.tried["alpha"]["asks"]] == [56, 8952]
    assert {one["ip"] for one in channels.tried["alpha"]["dials"]} == {"fd00:1::2"}
    assert [more.method for one in links_of(found) for more in one.more_proofs] == ["ping"]
