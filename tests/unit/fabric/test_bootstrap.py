"""TCP judged: direction, address, port and reason are named, with the lines for that node's own firewall."""

from __future__ import annotations

import shlex

import pytest

from fabricdoc.checks import judged, load_catalogue
from fabricdoc.fabric.bootstrap import bootstrap_findings
from fabricdoc.fabric.tried import Dialled, Taken
from fabricdoc.fabric.ways import Place, Way
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding
from tests.fabrics import crossed_pair, host

pytestmark = pytest.mark.unit

A = Place("alpha", "p0", "10.77.0.1", "10.77.0.0/24", 9000)
B = Place("beta", "p1", "10.77.0.2", "10.77.0.0/24", 9000)
THERE, BACK = Way(A, B, "link"), Way(B, A, "link")
MA, MB = A._replace(netdev="eth0", ip="192.168.1.1"), B._replace(netdev="eth0", ip="192.168.1.2")


def nodes(firewall: str = "") -> list[Node]:
    alpha, beta = crossed_pair().nodes
    if not firewall:
        return [alpha, beta]
    return [alpha, beta.model_copy(update={"host": host("beta").model_copy(update={"firewall": firewall})})]


def found(*dialled: Dialled, firewall: str = "", taken: tuple[Taken, ...] = ()) -> list[Finding]:
    return list(bootstrap_findings(nodes(firewall), dialled, taken))


def test_all_connected_is_no_finding() -> None:
    assert found(Dialled(THERE, 0, 40000, "connected"), Dialled(BACK, 29500, 29500, "connected")) == []


def test_a_dropped_direction_names_address_port_and_both_nodes() -> None:
    (one,) = found(
        Dialled(THERE, 0, 40123, "timed-out", "nothing came within 2.5 s"), Dialled(BACK, 0, 40001, "connected")
    )
    assert (one.id, one.severity, one.subject) == ("bootstrap-port-blocked", "error", "alpha -> beta 10.77.0.2")
    assert [(e.file, e.text) for e in one.evidence] == [
        (
            "alpha",
            "tcp from p0 10.77.0.1 to 10.77.0.2:40123 (a port of the ephemeral range) got no answer: "
            "nothing came within 2.5 s",
        )
    ]
    assert one.cause.startswith("Something on beta, or on the way to it, drops these connections")
    assert "RDMA may pass all the same" in one.cause


def test_the_two_ports_of_one_way_are_one_finding_with_what_passed() -> None:
    (one,) = found(
        Dialled(BACK, 0, 40001, "refused", "Connection refused (errno 111)"), Dialled(BACK, 29500, 29500, "connected")
    )
    assert one.subject == "beta -> alpha 10.77.0.1"
    assert [e.text.partition(" to ")[2] for e in one.evidence] == [
        "10.77.0.1:40001 (a port of the ephemeral range) was refused although a listener of ours stood there: "
        "Connection refused (errno 111)",
        "10.77.0.1:29500 (the rendezvous port) connected",
    ]


@pytest.mark.parametrize("outcome", ["refused", "timed-out", "unreachable", "silent", "stranger", "failed"])
def test_every_outcome_has_its_own_cause(outcome: str) -> None:
    (one,) = found(Dialled(THERE, 0, 40123, outcome))
    others = {found(Dialled(THERE, 0, 40123, other))[0].cause for other in ("refused", "timed-out") if other != outcome}
    assert one.cause not in others
    assert "{" not in one.cause
    assert one.fix


def test_no_route_says_how_to_look() -> None:
    (one,) = found(Dialled(THERE, 0, 40123, "unreachable", "No route to host (errno 113)"))
    assert one.fix[:2] == ("on alpha, see where packets to 10.77.0.2 go:", "ip route get 10.77.0.2")


@pytest.mark.parametrize(
    ("firewall", "lines"),
    [
        ("ufw is enabled", ["sudo ufw allow in on p1"]),
        (
            "nftables: 3 rules, policy drop in inet firewalld filter_INPUT",
            [
                "sudo firewall-cmd --permanent --zone=trusted --change-interface=p1 && sudo firewall-cmd --reload",
            ],
        ),
    ],
)
def test_the_nodes_own_firewall_gets_its_own_line(firewall: str, lines: list[str]) -> None:
    (one,) = found(Dialled(THERE, 0, 40123, "timed-out"), firewall=firewall)
    assert one.evidence[-1].text == f"firewall: {firewall}"
    assert list(one.fix) == ["on beta, accept what comes in on p1 (the fabric's own interface):", *lines]


def test_an_unknown_firewall_gets_a_line_for_each_usual_one() -> None:
    (one,) = found(Dialled(THERE, 0, 40123, "timed-out"))
    assert [line.rpartition("# ")[2] for line in one.fix[1:]] == ["ufw", "firewalld", "nft"]


def test_names_of_interfaces_are_quoted() -> None:
    odd = Way(A, B._replace(netdev="p1;reboot"), "link")
    (one,) = found(Dialled(odd, 0, 40123, "timed-out"), firewall="ufw is enabled")
    assert shlex.split(one.fix[1])[-1] == "p1;reboot"


def test_only_management_closed_is_a_warning_that_names_the_way_out() -> None:
    managed = Way(MA, MB, "management")
    (one,) = found(Dialled(THERE, 0, 40000, "connected"), Dialled(managed, 0, 40001, "timed-out"))
    assert (one.severity, one.subject) == ("warning", "alpha -> beta 192.168.1.2")
    assert "over the link between the two it passes" in one.cause
    assert "NCCL_SOCKET_IFNAME" in one.fix[-1]


def test_management_closed_without_an_open_link_is_an_error() -> None:
    managed = Way(MA, MB, "management")
    assert [one.severity for one in found(Dialled(managed, 0, 40001, "timed-out"))] == ["error"]
    both = found(Dialled(THERE, 0, 40000, "timed-out"), Dialled(managed, 0, 40001, "timed-out"))
    assert [one.severity for one in both] == ["error", "error"]


def test_a_port_in_use_names_its_process() -> None:
    (one,) = found(taken=(Taken("alpha", "10.77.0.1", 29500, "python3 (pid 77)"),))
    assert (one.id, one.severity, one.subject) == ("rendezvous-port-taken", "info", "alpha 10.77.0.1:29500")
    assert one.evidence[0].text == "tcp port 29500 is in use by python3 (pid 77)"
    (unknown,) = found(taken=(Taken("alpha", "10.77.0.1", 29500),))
    assert "does not show" in unknown.evidence[0].text


def test_findings_outlive_the_judgement() -> None:
    findings = found(Dialled(THERE, 0, 1, "refused"), taken=(Taken("alpha", "10.77.0.1", 29500),))
    again = judged(Fabric(nodes=tuple(nodes()), findings=tuple(findings)))
    assert {one.id for one in findings} <= {one.id for one in again.findings}
    assert {load_catalogue()[one.id].decided_by for one in findings} == {"bootstrap test"}
