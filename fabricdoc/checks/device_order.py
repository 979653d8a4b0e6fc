"""HCAs that NCCL would pair although they are not in one subnet, and proven ports that NCCL_IB_HCA leaves out.

NCCL connects the k-th HCA of one node to the k-th of the other, by PCI address and whatever the order of the list
(2.29.7 and later). Twins of one cage share a cable, so only their addresses say which is which. Crossed cables are
`crossed`'s, a list that takes one twin only is `selection`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fabricdoc.checks.differences import SHOWN, node_lines
from fabricdoc.checks.free_addresses import add_line, remove_line
from fabricdoc.checks.hca_sets import taken_ports
from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import is_link_local, networks
from fabricdoc.checks.rings import ROUTING
from fabricdoc.checks.segments import Attached, End, Segment, cage_names, segments_of
from fabricdoc.checks.variables import variable, whole_number
from fabricdoc.model.fabric import Address, Fabric, Hca, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.nccl import in_device_order

LIST = "NCCL_IB_HCA"
Placed = tuple[Attached, str, Address]  # port, its one network, its address there


def check_device_order(fabric: Fabric) -> tuple[Finding, ...]:
    """rail-subnets-in-another-order for cables whose twins' addresses are swapped; links-not-used for short lists."""
    cables = (segment for segment in segments_of(fabric) if segment.is_cable)
    return (*(finding for cable in cables for finding in swapped_twins(cable)), *unused_links(fabric))


def swapped_twins(cable: Segment) -> Iterator[Finding]:
    """The two ends have the same subnets, but on HCAs of other numbers; silent where all nodes route by subnet."""
    first, second = (_placed(end) for end in cable.ends)
    orders = [[network for _port, network, _address in side] for side in (first, second)]
    routed = all(_routes(end.node) for end in cable.ends)
    if len(orders[0]) < 2 or orders[0] == orders[1] or sorted(orders[0]) != sorted(orders[1]) or routed:
        return
    node = cable.ends[1].node.name
    yield Finding(
        id="rail-subnets-in-another-order",
        severity="warning",
        subject=cable.title(),
        evidence=tuple(
            Evidence(file=port.node.name, text=f"{_hca(port)} ({port.netdev.name}) {address.ip}/{address.prefix}")
            for side in (first, second)
            for port, _network, address in side
        ),
        cause="The twins of this cable have the subnets in another order at its two ends. NCCL pairs HCAs by their "
        "number (PCI address), whatever the order in NCCL_IB_HCA, so each dials the other's subnet: that fails, or "
        "goes astray over the other twin.",
        fix=(
            f"on {node}, swap the addresses of the twins:",
            *_swap(second, orders[0]),
            "and swap them where they are configured (netplan), so that it stays",
            f"or on every rank: export {ROUTING}=1 (NCCL 2.30.7 and later)",
            f"or use one port of each: {_one_each(first, second)}",
        ),
        confidence="likely",
    )


def _placed(end: End) -> list[Placed]:
    """The ACTIVE HCA ports of an end in NCCL's order; [] where one has no IPv4 subnet, or several."""
    ports = {one.hca.name: one for one in end.ports if one.hca is not None and one.port and one.port.state == "ACTIVE"}
    hcas: list[Hca] = [one.hca for one in ports.values() if one.hca is not None]
    found: list[Placed] = []
    for hca in in_device_order(hcas):
        own = [(network, at) for network, at in networks(ports[hca.name].netdev) if not is_link_local(network)]
        if len(own) != 1:
            return []
        found.append((ports[hca.name], *own[0]))
    return found if len({network for _port, network, _address in found}) == len(found) else []


def _routes(node: Node) -> bool:
    found = variable(node, ROUTING)
    return found is not None and whole_number(found.value) > 0


def _hca(port: Attached) -> str:
    return port.hca.name if port.hca else port.netdev.name


def _swap(placed: list[Placed], wanted: list[str]) -> Iterator[str]:
    """The commands that bring the addresses of one end into the order of the subnets at the other."""
    by_network = {network: address for _port, network, address in placed}
    moves = [
        (port, address, by_network[network])
        for (port, now, address), network in zip(placed, wanted, strict=True)
        if now != network
    ]
    yield from (remove_line(f"{old.ip}/{old.prefix}", port.netdev.name) for port, old, _new in moves)
    yield from (add_line(f"{new.ip}/{new.prefix}", port.netdev.name) for port, _old, new in moves)


def _one_each(first: list[Placed], second: list[Placed]) -> str:
    """The two HCAs of the first subnet, one of each node."""
    port, network, _address = first[0]
    other = next(one for one, theirs, _at in second if theirs == network)
    return f"{LIST}=={_hca(port)} on {port.node.name}, ={_hca(other)} on {other.node.name}"


def unused_links(fabric: Fabric) -> Iterator[Finding]:
    """links-not-used: a list that leaves proven ports out (information), or names none of them (error)."""
    if not any(variable(node, LIST) for node in fabric.nodes):
        return
    proven: dict[str, list[Attached]] = defaultdict(list)
    peers: dict[str, set[str]] = defaultdict(set)
    for segment in segments_of(fabric):
        names = {end.node.name for end in segment.ends}
        for end in segment.ends if len(names) > 1 else ():
            peers[end.node.name] |= names - {end.node.name}
            proven[end.node.name] += [one for one in end.ports if one.port and one.port.state == "ACTIVE"]
    for node in fabric.nodes:
        listed = variable(node, LIST)
        taken = {name for name, _port in taken_ports(node)}
        if listed is None or not taken or node.name not in proven:
            continue
        used = [one for one in proven[node.name] if _hca(one) in taken]
        left = _left(node, proven[node.name], taken)
        if not used:
            yield _finding(node, listed.text(), proven[node.name], none_used=True)
        elif left and not (is_gb10(node) and len(peers[node.name]) == 1):
            yield _finding(node, listed.text(), left, none_used=False)


def _left(node: Node, proven: list[Attached], taken: set[str]) -> list[Attached]:
    """Proven ports that are not taken, but for twins of a taken one: those are told by themselves."""
    cages = cage_names(node)
    used = {cages.get(name, name) for name in taken}
    return [one for one in proven if _hca(one) not in taken and cages.get(_hca(one), _hca(one)) not in used]


def _finding(node: Node, listed: str, ports: list[Attached], *, none_used: bool) -> Finding:
    names = [_hca(one) for one in ports]
    taken = [] if none_used else [name for name, _port in taken_ports(node)]
    every = [hca.name for hca in in_device_order(_hcas(node, {*names, *taken}))]
    return Finding(
        id="links-not-used",
        severity="error" if none_used else "info",
        subject=node.name,
        evidence=(
            Evidence(file=node.name, text=listed),
            *(
                Evidence(file=node.name, text=f"{_hca(one)} ({one.netdev.name}) has a proven peer")
                for one in ports[:SHOWN]
            ),
        ),
        cause="None of the ports in the list leads to another of these nodes, while others do: NCCL dials where nobody "
        "answers (errno 110)."
        if none_used
        else "Cables join more ports of this node than the list takes. That is no fault: a set that was measured may "
        "well be smaller.",
        fix=tuple(node_lines([(node.name, [f"export {LIST}='={','.join(every)}'"])])),
        confidence="certain" if none_used else "possible",
    )


def _hcas(node: Node, names: set[str]) -> list[Hca]:
    return [hca for hca in node.hcas if hca.name in names] if isinstance(node.hcas, tuple) else []
