"""How the connectors of a node are used: bonds over them, VFs beside them, a second cable on GB10.

What ties HCAs to a cage was decided before (`Node.cages`); nothing is grouped here. Which twins NCCL_IB_HCA takes
is `selection`'s business.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import cage_ports, hcas_of, netdevs_of, roce_ports
from fabricdoc.checks.variables import variable
from fabricdoc.checks.wording import commands, listed, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from fabricdoc.model.findings import Finding


def check_cages(fabric: Fabric) -> tuple[Finding, ...]:
    """Bonds over ports, VFs beside their physical function, and a second cable that brings nothing."""
    peers = _peers(fabric)
    second = tuple(finding for node in fabric.nodes for finding in second_cable(node, peers))
    return of_nodes(fabric, bonds, vf_beside_pf) + second


def bonds(node: Node) -> Iterator[Finding]:
    """A bond over HCAs' interfaces: an error where two of them are twins, else information."""
    for bond in netdevs_of(node):
        members = [one for one in netdevs_of(node) if one.master == bond.name]
        if bond.kind not in ("bond", "team") or len(members) < 2:
            continue
        names = {port.netdev: hca.name for hca in hcas_of(node) for port in hca.ports if isinstance(port.netdev, str)}
        twins = [cage for cage in node.cages if sum(names.get(one.name) in cage.hcas for one in members) > 1]
        if twins or (is_gb10(node) and any(one.name in names for one in members)):
            yield _bond_over_twins(node, bond, members, names)
        elif any(hca.bond == bond.name for hca in hcas_of(node)):
            yield _lag(node, bond, members)


def _bond_over_twins(node: Node, bond: Netdev, members: list[Netdev], names: Mapping[str, str]) -> Finding:
    return Finding(
        id="bond-over-twins",
        severity="error",
        subject=f"{node.name}/{bond.name}",
        evidence=seen(
            node,
            f"{bond.name} mode {bond.bond_mode or 'unknown'}",
            *(f"{one.name} master {bond.name}, HCA {names.get(one.name, 'none')}" for one in members),
        ),
        cause=f"{bond.name} joins ports of one ConnectX-7. That carries no more than one PCIe link does (112 Gb/s at "
        "most), and GIDs and memory registration break on bonded ports; NCCL uses both HCAs without a bond.",
        fix=(
            *commands(node, ["sudo", "ip", "link", "delete", bond.name]),
            f"take {bond.name} out of /etc/netplan, and give {listed([one.name for one in members])} an IPv4 address "
            "in a subnet of its own each",
        ),
    )


def _lag(node: Node, bond: Netdev, members: list[Netdev]) -> Finding:
    device = next(hca.name for hca in hcas_of(node) if hca.bond == bond.name)
    return Finding(
        id="roce-lag",
        severity="info",
        subject=f"{node.name}/{bond.name}",
        evidence=seen(node, f"{device} stands for {bond.name}: {', '.join(one.name for one in members)}"),
        cause=f"{device} is a RoCE LAG: a queue pair stays on one member, chosen by hash, so one connection never gets "
        "more than one port's speed.",
        fix=("if members are used unevenly, raise NCCL_IB_QPS_PER_CONNECTION on all ranks",),
    )


def vf_beside_pf(node: Node) -> Iterator[Finding]:
    """Active VFs beside their own physical function, and no NCCL_IB_HCA that says which to take."""
    active = {one.hca.name: one.hca for one in roce_ports(node)}
    here = {hca.pci: hca.name for hca in active.values() if isinstance(hca.pci, str)}
    pairs = [(hca.name, here[parent]) for hca in active.values() if (parent := hca.physical_function) in here]
    if pairs and variable(node, "NCCL_IB_HCA") is None:
        physical = list(dict.fromkeys(name for _vf, name in pairs))
        yield Finding(
            id="vf-beside-pf",
            severity="warning",
            subject=node.name,
            evidence=seen(node, *(f"{vf} is a VF of {name}, both ACTIVE" for vf, name in pairs[:16])),
            cause="NCCL takes every active port, so it uses VFs and their physical functions as if they were separate "
            "NICs, and some versions fuse the two; nodes then differ in how many devices they bring.",
            fix=(f"on {node.name}: NCCL_IB_HCA=={','.join(physical)}", "or expose only one of the two kinds"),
            confidence="likely",
        )


def second_cable(node: Node, peers: Mapping[str, Mapping[str, set[str]]]) -> Iterator[Finding]:
    """GB10 with a cable in both cages to the same one node: information, since one cable carries as much."""
    if not is_gb10(node):
        return
    ends = peers.get(node.name, {})
    by_cage = [set().union(*(ends.get(one.netdev.name, set()) for one in up)) for _cage, up in cage_ports(node) if up]
    if len(by_cage) > 1 and all(len(one) == 1 for one in by_cage) and len(set().union(*by_cage)) == 1:
        (peer,) = by_cage[0]
        yield Finding(
            id="second-cable-no-gain",
            severity="info",
            subject=node.name,
            evidence=seen(node, *(f"{name} leads to {', '.join(sorted(who))}" for name, who in sorted(ends.items()))),
            cause=f"Both cages lead to {peer}. The two cages share two Gen5 x4 links, which one cable fills already "
            "(185 to 190 Gb/s), so the second cable adds nothing that NCCL can use.",
            fix=("nothing is wrong: one cable is enough between two nodes; a ring of three needs both",),
        )


def _peers(fabric: Fabric) -> Mapping[str, Mapping[str, set[str]]]:
    """node -> netdev -> the other nodes that its proven links lead to."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for link in () if isinstance(fabric.links, Unknown) else fabric.links:
        for one, other in ((link.a, link.b), (link.b, link.a)):
            if one.node != other.node:
                found[one.node][one.netdev].add(other.node)
    return found
