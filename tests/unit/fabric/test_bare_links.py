"""Links whose ports have link-local addresses alone: who is told, why, and lines to paste that help."""

from __future__ import annotations

import pytest

from fabricdoc.fabric.bare_links import bare_findings
from fabricdoc.fabric.ways import tcp_ways
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Link, Node
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec
from tests.fabrics import crossed_pair, link, netdev, node

pytestmark = pytest.mark.unit


def bare(name: str, *ports: str, number: int = 1) -> Node:
    """A node whose ports have link-local addresses alone."""
    netdevs = [
        netdev(port).model_copy(
            update={"addresses": (Address(ip=f"fe80::{number}:{at}", prefix=64, family="ipv6", scope="link"),)}
        )
        for at, port in enumerate(ports)
    ]
    return node(name, netdevs=netdevs)


def cable(a: str, b: str, kind: str = "cable") -> Link:
    ends = [(*end.split("/"), None) for end in (a, b)]
    return link(ends[0], ends[1], kind=kind)  # type: ignore[arg-type]


def judged(fabric: Fabric) -> tuple[Finding, ...]:
    specs = [NodeSpec(one.name, "local") for one in fabric.nodes]
    return bare_findings(fabric, [way for way in tcp_ways(specs, fabric) if way.by == "link"])


PAIR = (bare("alpha", "p0", "p1"), bare("beta", "p0", "p1", number=2))


def test_two_nodes_of_bare_links_are_told_once_with_lines_to_paste() -> None:
    fabric = Fabric(nodes=PAIR, links=(cable("alpha/p0", "beta/p1"), cable("alpha/p1", "beta/p0")))
    (finding,) = judged(fabric)
    assert (finding.id, finding.severity) == ("reach-not-tried", "info")
    assert finding.subject == "alpha/p0 - beta/p1, alpha/p1 - beta/p0"
    assert (finding.evidence[0].file, finding.evidence[0].text) == ("alpha", "p0 has fe80::1:0 (link-local) alone")
    assert "MASTER_ADDR hand one address from node to node" in finding.cause
    assert finding.fix[1:] == (
        "sudo ip address add 192.168.100.1/24 dev p0    # on alpha",
        "sudo ip address add 192.168.100.2/24 dev p1    # on beta",
        "sudo ip address add 192.168.101.1/24 dev p1    # on alpha",
        "sudo ip address add 192.168.101.2/24 dev p0    # on beta",
    )


def test_a_subnet_that_a_node_has_is_not_proposed() -> None:
    taken = netdev("eth0").model_copy(update={"addresses": (Address(ip="192.168.100.9", prefix=24, family="ipv4"),)})
    nodes = (*PAIR, node("gamma", netdevs=[taken]))
    (finding,) = judged(Fabric(nodes=nodes, links=(cable("alpha/p0", "beta/p1"),)))
    assert "192.168.101.1/24" in finding.fix[1]


def test_ports_of_one_segment_get_one_subnet() -> None:
    nodes = (*PAIR, bare("gamma", "p0", number=3))
    links = (cable("alpha/p0", "beta/p0", "segment"), cable("alpha/p0", "gamma/p0", "segment"))
    (finding,) = judged(Fabric(nodes=nodes, links=links))
    assert [line.split()[4] for line in finding.fix[1:]] == ["192.168.100.1/24", "192.168.100.2/24", "192.168.100.3/24"]


def test_many_links_are_cut_short() -> None:
    nodes = tuple(bare(f"n{at}", "p0", "p1", number=at + 1) for at in range(8))
    links = tuple(cable(f"n{at}/p0", f"n{at + 1}/p1") for at in range(7))
    (finding,) = judged(Fabric(nodes=nodes, links=links))
    assert finding.subject.endswith(" and 3 more") and len(finding.evidence) == 8 and len(finding.fix) == 9


def test_nodes_that_one_addressed_link_joins_are_not_told() -> None:
    good = crossed_pair()
    assert judged(good) == ()
    mixed = [
        one.model_copy(update={"netdevs": (*(one.netdevs if isinstance(one.netdevs, tuple) else ()), *more.netdevs)})
        for one, more in zip(good.nodes, (bare("alpha", "q0"), bare("beta", "q0", number=2)), strict=True)
        if isinstance(more.netdevs, tuple)
    ]
    links = (*(good.links if isinstance(good.links, tuple) else ()), cable("alpha/q0", "beta/q0"))
    assert judged(Fabric(nodes=tuple(mixed), links=links)) == ()


@pytest.mark.parametrize("kind", ["one-way", "loop"])
def test_what_carries_nothing_is_not_told(kind: str) -> None:
    assert judged(Fabric(nodes=PAIR, links=(cable("alpha/p0", "beta/p1", kind),))) == ()


def test_unknown_links_and_interfaces_tell_nothing() -> None:
    assert judged(Fabric(nodes=PAIR, links=Unknown(unknown="no right"))) == ()
    blank = tuple(one.model_copy(update={"netdevs": Unknown(unknown="x")}) for one in PAIR)
    assert judged(Fabric(nodes=blank, links=(cable("alpha/p0", "beta/p1"),))) == ()


def test_one_end_with_a_subnet_is_anothers_matter() -> None:
    good = crossed_pair().nodes[0]
    fabric = Fabric(nodes=(good, PAIR[1]), links=(cable("alpha/p0", "beta/p1"),))
    assert judged(fabric) == ()
