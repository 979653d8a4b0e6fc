"""Ports that NCCL would take although nobody of this fabric is at their other end.

Told by their subnets (nobody else is in it) and, where links were proven, by meeting none of the nodes. A routed fabric
has a subnet for each port, so a port with a gateway of its own is left alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fabricdoc.checks.hca_sets import taken_ports
from fabricdoc.checks.ports import RocePort, is_link_local, netdevs_of, networks, roce_ports
from fabricdoc.checks.segments import cage_names, segments_of
from fabricdoc.checks.variables import variable
from fabricdoc.checks.wording import exported
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node, PortKey
from fabricdoc.model.findings import Evidence, Finding


def check_foreign_ports(fabric: Fabric) -> tuple[Finding, ...]:
    """ib-hca-includes-port-cabled-elsewhere: a warning per node with such ports beside ports that lead to others."""
    if len(fabric.nodes) < 2 or fabric.failed or any(isinstance(node.netdevs, Unknown) for node in fabric.nodes):
        return ()  # a node that was not read may be the other end
    homes: dict[str, set[str]] = defaultdict(set)
    for node in fabric.nodes:
        for netdev in netdevs_of(node):
            for network, _address in networks(netdev):
                homes[network].add(node.name)
    between = (one for one in segments_of(fabric) if len({end.node.name for end in one.ends}) > 1)
    joined = {(one.node.name, one.netdev.name) for found in between for end in found.ends for one in end.ports}
    if not joined and any(not networks(one.netdev) for node in fabric.nodes for one in roce_ports(node)):
        return ()  # a port without an address may be the other end
    return tuple(finding for node in fabric.nodes for finding in _of_node(node, homes, joined))


def _of_node(node: Node, homes: dict[str, set[str]], joined: set[PortKey]) -> Iterator[Finding]:
    taken = set(taken_ports(node))
    ports = [one for one in roce_ports(node) if (one.hca.name, one.port.number) in taken]
    near = [one for one in ports if (node.name, one.netdev.name) in joined or _shares(one, homes)]
    cages = cage_names(node)
    met = {cages.get(one.hca.name, one.hca.name) for one in near}
    away = (one for one in ports if cages.get(one.hca.name, one.hca.name) not in met)
    foreign = [one for one in away if _is_alone(node, one, bool(joined))]
    if near and foreign:
        yield _finding(node, near, foreign)


def _shares(one: RocePort, homes: dict[str, set[str]]) -> bool:
    return any(not is_link_local(network) and len(homes[network]) > 1 for network, _address in networks(one.netdev))


def _is_alone(node: Node, one: RocePort, proven: bool) -> bool:
    """Whether its subnets hold nobody else; a port with 169.254 or no address only where links were proven."""
    own = [network for network, _address in networks(one.netdev) if not is_link_local(network)]
    return not _is_routed(node, one) if own else proven


def _is_routed(node: Node, one: RocePort) -> bool:
    routes = () if isinstance(node.routes, Unknown) else node.routes
    rules = () if isinstance(node.rules, Unknown) else node.rules
    addresses = {address.ip for address in one.netdev.addresses}
    named = {word.partition("/")[0] for rule in rules for word in rule.selector.split()}
    return bool(addresses & named) or any(route.netdev == one.netdev.name and route.gateway for route in routes)


def _finding(node: Node, near: list[RocePort], foreign: list[RocePort]) -> Finding:
    names = [one.hca.name for one in foreign]
    listed = variable(node, "NCCL_IB_HCA")
    return Finding(
        id="ib-hca-includes-port-cabled-elsewhere",
        severity="warning",
        subject=", ".join(f"{node.name}/{name}" for name in names),
        evidence=(
            *(Evidence(file=node.name, text=f"{one.hca.name} ({one.netdev.name}) {_where(one)}") for one in foreign),
            Evidence(
                file=node.name, text=listed.text() if listed else "NCCL_IB_HCA is not set: every ACTIVE port is taken"
            ),
        ),
        cause="These ports are ACTIVE, but none of the nodes is at their other end or in their subnet. NCCL takes them "
        "like any other and the peers can't be reached over them: connecting ends with errno 110.",
        fix=(
            f"on {node.name}:",
            exported("NCCL_IB_HCA", f"={','.join(one.hca.name for one in near)}"),
        ),
        confidence="likely",
    )


def _where(one: RocePort) -> str:
    own = [f"{address.ip}/{address.prefix}" for _network, address in networks(one.netdev)]
    return f"{', '.join(own)}: no other node in that subnet" if own else "meets none of the nodes"
