"""Nodes all of whose links have link-local IPv6 addresses alone (fe80): why no TCP was tried there, and what to do.

Such an address holds only together with an interface of the machine that uses it. NCCL's bootstrap and a rendezvous
hand one address from node to node, so a connection made here with the right interface would prove nothing for them.
Datagrams are sent over these links all the same (`ways`), and RDMA takes its GIDs. Tries nothing itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.fabric.ways import Place, Way, bare_places
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding

SHOWN = 4
Ends = tuple[Place, Place]


def bare_findings(fabric: Fabric, linked: Sequence[Way]) -> tuple[Finding, ...]:
    """One finding (`reach-not-tried`) where two nodes' links are all bare; `linked` are the ways by links.

    None for two nodes that one link with a shared subnet joins: bootstrap passes there.
    """
    served = {frozenset((way.a.node, way.b.node)) for way in linked}
    found = [ends for ends in _bare(fabric) if frozenset(one.node for one in ends) not in served]
    return (_finding(fabric, found),) if found else ()


def _bare(fabric: Fabric) -> Iterator[Ends]:
    """The ends of every link between two nodes both of whose ports have link-local addresses alone."""
    here: Mapping[str, Mapping[str, Place]] = {node.name: bare_places(node) for node in fabric.nodes}
    for link in () if isinstance(fabric.links, Unknown) else fabric.links:
        a, b = (here.get(end.node, {}).get(end.netdev) for end in (link.a, link.b))
        if link.kind in ("cable", "segment") and a is not None and b is not None and a.node != b.node:
            yield a, b


def _finding(fabric: Fabric, found: Sequence[Ends]) -> Finding:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    shown = found[:SHOWN]
    ends = dict.fromkeys(one for pair in shown for one in pair)
    return Finding(
        id="reach-not-tried",
        severity="info",
        subject=", ".join(f"{a.node}/{a.netdev} - {b.node}/{b.netdev}" for a, b in shown) + more,
        evidence=tuple(Evidence(file=one.node, text=f"{one.netdev} has {one.ip} (link-local) alone") for one in ends),
        cause="These ports have link-local IPv6 addresses (fe80) alone, so TCP was not tried over their links: such an "
        "address holds only with an interface of the machine that uses it, and NCCL's bootstrap and MASTER_ADDR hand "
        "one address from node to node. They need another network, or an address here. Datagrams were tried.",
        fix=tuple(_fix(fabric, shown)),
    )


def _fix(fabric: Fabric, shown: Sequence[Ends]) -> Iterator[str]:
    """Addresses for the ends, each link a subnet of its own that no node has; ports of one segment share one."""
    yield "give the ports of each link IPv4 addresses of one subnet (until the next reboot; keep them in netplan):"
    free = _free(fabric)
    subnets: dict[Place, str] = {}
    hosts: dict[str, int] = {}
    told: set[Place] = set()
    for pair in shown:
        subnet = next((subnets[one] for one in pair if one in subnets), "") or next(free, "")
        for one in pair if subnet else ():
            subnets[one] = subnet
            if one in told:
                continue
            told.add(one)
            hosts[subnet] = hosts.get(subnet, 0) + 1
            words = ["sudo", "ip", "address", "add", f"{subnet}.{hosts[subnet]}/24", "dev", one.netdev]
            yield f"{shlex.join(words)}    # on {one.node}"


def _free(fabric: Fabric) -> Iterator[str]:
    """The first three numbers of private /24 networks in which no node of the fabric has an address."""
    taken = {
        address.ip.rpartition(".")[0]
        for node in fabric.nodes
        for netdev in (() if isinstance(node.netdevs, Unknown) else node.netdevs)
        for address in netdev.addresses
    }
    return (net for number in range(100, 255) if (net := f"192.168.{number}") not in taken)
