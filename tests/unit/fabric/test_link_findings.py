"""What beacons alone can tell: ports not opened and what they lack, nodes without rights, echoes, strays, one-way."""

from __future__ import annotations

import pytest

from fabricdoc.checks.catalogue import found_on_the_wire
from fabricdoc.errors import NodeError
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.fabric.link_findings import MOST_PORTS, beacon_findings, refused_ports
from fabricdoc.model.fabric import Endpoint, Link, LinkProof, Neighbour
from fabricdoc.model.findings import Finding
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit

A0, A1, B1 = ("alpha", "p0"), ("alpha", "p1"), ("beta", "p1")
NO_ADDRESS = "Operation not permitted (errno 1); multicast: no IPv6 link-local address"


def found(heard: Heard, *links: Link) -> list[Finding]:
    return list(beacon_findings(heard, links, ()))


def one_way(method: str) -> Link:
    ends = [Endpoint(node=name, netdev=port, mac="") for name, port in (A0, B1)]
    proof = LinkProof.model_validate({"method": method, "at": "", "frames_a_to_b": 3})
    return Link(a=ends[0], b=ends[1], kind="one-way", proof=proof)


def test_a_port_that_could_not_be_opened_is_named_with_the_reason() -> None:
    (one,) = refused_ports(Heard(refused={A0: "No such device (errno 19)"}))
    assert (one.id, one.severity, one.subject) == ("port-not-probed", "info", "alpha/p0")
    assert one.evidence[0].text == "p0: No such device (errno 19)"
    assert one.fix[0] == "for raw sockets: run as root on that node, or give python3 there CAP_NET_RAW"


@pytest.mark.parametrize(
    ("lack", "line"),
    [
        ("ipv6-off", "sudo sysctl -w net.ipv6.conf.p0.disable_ipv6=0"),
        ("no-address", "sudo ip link set dev p0 addrgenmode eui64"),
        ("member", "or list the interface that p0 on alpha belongs to, with --ports"),
        ("tentative", "or run it again in some seconds"),
        ("duplicate", "two ports on one segment have the MAC of p0 on alpha: see `ip -6 addr show dadfailed`"),
    ],
)
def test_what_multicast_lacks_has_its_fix(lack: str, line: str) -> None:
    (one,) = refused_ports(Heard(refused={A0: NO_ADDRESS}, lacks={A0: lack}))
    assert line in one.fix


def test_no_ipv6_at_all_has_no_line_that_could_not_work() -> None:
    (one,) = refused_ports(Heard(refused={A0: NO_ADDRESS}, lacks={A0: "no-ipv6"}))
    assert len(one.fix) == 2


def test_the_sysctl_of_a_vlan_keeps_its_dot() -> None:
    (one,) = refused_ports(Heard(refused={("alpha", "p0.7"): NO_ADDRESS}, lacks={("alpha", "p0.7"): "ipv6-off"}))
    assert one.fix[-1] == "sudo sysctl -w net.ipv6.conf.p0/7.disable_ipv6=0"


def test_a_node_that_failed_on_the_way_is_a_warning_with_its_fix() -> None:
    (one,) = found(Heard(failed={"beta": NodeError("beta: the ssh connection broke", fix="check the link to it")}))
    assert (one.id, one.severity, one.subject) == ("port-not-probed", "warning", "beta")
    assert one.evidence[0].text == "beta: the ssh connection broke"
    assert one.fix == ("check the link to it",)


def test_nodes_proven_by_multicast_are_told_in_one_finding_with_what_was_tried() -> None:
    heard = Heard(
        methods={A1: "multicast", A0: "multicast", B1: "multicast"},
        rights={"alpha": "alpha: raw sockets are not allowed (sudo: a password is required)"},
    )
    (one,) = found(heard)
    assert (one.id, one.severity, one.subject) == ("beacons-by-multicast", "info", "alpha, beta")
    assert [(line.file, line.text) for line in one.evidence] == [
        ("alpha", "raw sockets are not allowed (sudo: a password is required); by multicast: p0, p1"),
        ("beta", "raw sockets are not allowed; by multicast: p1"),
    ]
    assert "CAP_NET_RAW" in one.fix[0]
    assert "sudo -n" in one.fix[1]


def test_many_ports_and_nodes_are_cut() -> None:
    ports = {("alpha", f"p{number:02}"): "multicast" for number in range(40)}
    (one,) = found(Heard(methods={**ports, **{(f"n{number:02}", "p0"): "multicast" for number in range(40)}}))  # type: ignore[dict-item]
    assert one.evidence[0].text.endswith(
        f"; by multicast: {', '.join(f'p{number:02}' for number in range(MOST_PORTS))}"
    )
    assert one.subject == "alpha, n00, n01, n02, n03, n04, n05, n06 and 33 more"
    assert len(one.evidence) == 8


def test_one_way_by_multicast_may_be_a_firewall() -> None:
    raw, other = found(Heard(), one_way("beacon"), one_way("multicast"))
    assert raw.subject == "alpha/p0 - beta/p1"
    assert raw.evidence[0].text == "frames to beta: 3, back: 0"
    assert "firewall" not in raw.cause
    assert "firewall" in other.cause


def test_frames_that_come_back_are_a_loop_behind_the_port() -> None:
    (one,) = found(Heard(echoes={A0: 6}))
    assert (one.id, one.severity, one.subject) == ("port-hears-itself", "warning", "alpha/p0")
    assert one.evidence[0].text == "p0: 6 of its own frames came back to it"


def test_strays_are_told_by_port_the_busiest_first() -> None:
    (one,) = found(Heard(stray=12, strays={A0: 2, B1: 10}))
    assert one.id == "stray-beacons"
    assert [(line.file, line.text) for line in one.evidence] == [
        ("beacons", "12 frames without this run's seal"),
        ("beta", "p1: 10 of them"),
        ("alpha", "p0: 2 of them"),
    ]
    (many,) = found(Heard(stray=99, strays={("n", f"p{number}"): number + 1 for number in range(40)}))
    assert len(many.evidence) == 1 + MOST_PORTS


def test_nothing_wrong_is_no_finding() -> None:
    assert found(Heard(macs={}), one_way("beacon").model_copy(update={"kind": "cable"})) == []


def test_what_could_not_be_looked_at_is_told_before_what_was_seen() -> None:
    heard = Heard(
        refused={A1: "No such device (errno 19)"},
        methods={A0: "multicast"},
        macs={A0: ""},
        stray=1,
        failed={"beta": NodeError("beta: gone")},
    )
    ids = [(one.id, one.subject) for one in found(heard, one_way("multicast"))]
    assert ids == [
        ("port-not-probed", "beta"),
        ("port-not-probed", "alpha/p1"),
        ("beacons-by-multicast", "alpha"),
        ("link-one-way", "alpha/p0 - beta/p1"),
        ("stray-beacons", "fabric"),
    ]


def test_a_failure_without_a_fix_has_none_made_up() -> None:
    (one,) = found(Heard(failed={"beta": NodeError("beta: gone")}))
    assert one.fix == ()


def test_every_id_is_one_that_only_frames_on_the_wire_decide() -> None:
    """Else the judgement at the end of the cables job would drop it."""
    strange = Neighbour(ip="10.9.0.7", netdev="p0", mac="02:00:00:00:00:99", state="stale")
    alpha = node("alpha", netdevs=[netdev("p0"), netdev("p3")]).model_copy(update={"neighbours": (strange,)})
    heard = Heard(
        macs={A0: "", ("alpha", "p3"): ""},
        refused={A1: "x"},
        methods={A0: "multicast"},
        stray=1,
        echoes={A0: 1},
        failed={"beta": NodeError("beta: gone")},
    )
    ends = [Endpoint(node=name, netdev=port, mac="") for name, port in (B1, ("gamma", "p0"))]
    link = Link(a=ends[0], b=ends[1], kind="one-way", proof=LinkProof(method="beacon", at=""))
    ids = {one.id for one in beacon_findings(heard, [link], [alpha])}
    assert len(ids) == 7
    assert all(found_on_the_wire(one) for one in ids)


def test_what_others_heard_of_a_node_before_it_failed_is_evidence() -> None:
    heard = Heard(failed={"beta": NodeError("beta: gone")}, halves=[Hearing(A0, B1, 6)])
    (one,) = found(heard)
    assert [(line.file, line.text) for line in one.evidence] == [
        ("beta", "beta: gone"),
        ("alpha", "p0 heard 6 frames of beta/p1"),
    ]
