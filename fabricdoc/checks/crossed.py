"""HCA names and numbers across nodes: crossed cables, lists that fit one node only, rails in another order.

Crossed cables are no fault; what breaks is one NCCL_IB_HCA for all nodes, and NCCL's pairing of the k-th HCA with the
k-th. Rings cross every cable by design and are left to `rings`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

from fabricdoc.checks.differences import SHOWN, Told, difference, named, node_lines
from fabricdoc.checks.majority import split
from fabricdoc.checks.ports import RocePort, hcas_of, is_link_local, networks, roce_ports
from fabricdoc.checks.segments import End, Segment, segments_of
from fabricdoc.checks.variables import Variable, variable
from fabricdoc.checks.wording import exported
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.nccl import in_device_order

LIST = "NCCL_IB_HCA"
ONE_LIST = (
    "Cables join HCAs of different names. That is no fault, but one NCCL_IB_HCA copied to both nodes names dead or "
    "wrong devices on one of them."
)
OTHER_NUMBER = (
    "Cables join HCAs of different names. That is no fault of the cables, but the k-th HCA of one node does not meet "
    "the k-th of the other, which NCCL pairs unless NCCL_IB_SUBNET_AWARE_ROUTING=1 is set (2.30.7 and later)."
)


def check_crossed(fabric: Fabric) -> tuple[Finding, ...]:
    """Lists that fit some nodes only (error), crossed cables (information), subnets in another order (warning)."""
    pairs = _pairs(fabric)
    return (
        *wrong_lists(fabric),
        *(finding for cables in pairs for finding in crossed_pair(cables)),
        *(() if pairs else order_of_subnets(fabric)),
    )


def wrong_lists(fabric: Fabric) -> Iterator[Finding]:
    """ib-hca-names-differ-between-nodes: one list on several nodes, right on some, naming dead devices on others."""
    nodes: dict[str, list[tuple[Node, Variable]]] = defaultdict(list)
    for node in fabric.nodes:
        found = variable(node, LIST)
        if found is not None and not found.value.startswith("^"):
            nodes[found.value].append((node, found))
    for value, listed in nodes.items():
        missing = {node.name: gone for node, _found in listed if (gone := _missing(node, value))}
        if missing and len(missing) < len(listed):
            yield _wrong_list(listed, missing)


def _missing(node: Node, value: str) -> list[str]:
    """What of the list is not there or not ACTIVE, on a node that has another ACTIVE port instead."""
    from fabricdoc.nccl import expand

    taken = expand(value, hcas_of(node))
    dead = dict.fromkeys([*taken.unmatched, *(name for name, _port in taken.inactive)])
    unlisted = [one for one in active_names(node) if one not in {name for name, _port in taken.ports}]
    return list(dead) if unlisted else []


def active_names(node: Node) -> list[str]:
    """Names of HCAs with an ACTIVE port, in NCCL's order (by PCI address where all are known)."""
    active = [hca for hca in hcas_of(node) if any(port.state == "ACTIVE" for port in hca.ports)]
    return [hca.name for hca in in_device_order(active)]


def _wrong_list(listed: list[tuple[Node, Variable]], missing: dict[str, list[str]]) -> Finding:
    wrong = [(node, found) for node, found in listed if node.name in missing]
    return Finding(
        id="ib-hca-names-differ-between-nodes",
        severity="error",
        subject=named([node.name for node, _found in wrong]),
        evidence=tuple(
            piece
            for node, found in wrong[:4]
            for piece in (
                Evidence(file=node.name, text=found.text()),
                Evidence(file=node.name, text=f"{', '.join(missing[node.name][:SHOWN])}: not there, or not ACTIVE"),
                Evidence(file=node.name, text=f"ACTIVE: {', '.join(active_names(node)[:SHOWN])}"),
            )
        ),
        cause="One list of HCAs is used on nodes whose ports have different names or are cabled differently. NCCL "
        "drops what it does not find without a word, so these nodes run with fewer HCAs or over TCP.",
        fix=tuple(node_lines((node.name, [_export(active_names(node))]) for node, _found in wrong)),
    )


def _export(names: list[str]) -> str:
    return exported(LIST, f"={','.join(names)}")


def _pairs(fabric: Fabric) -> list[list[Segment]]:
    """The cables of nodes that have one peer each, by pair."""
    cables: dict[tuple[str, ...], list[Segment]] = defaultdict(list)
    behind_switch: set[str] = set()
    for segment in segments_of(fabric):
        names = {end.node.name for end in segment.ends}
        if segment.is_cable:
            cables[tuple(sorted(names))].append(segment)
        else:
            behind_switch |= names
    peers = Counter(name for names in cables for name in names)
    return [
        found
        for names, found in cables.items()
        if all(peers[name] == 1 and name not in behind_switch for name in names)
    ]


def crossed_pair(cables: list[Segment]) -> Iterator[Finding]:
    """rails-crossed: information where cables of a pair join HCAs of different names."""
    first = cables[0].ends[0].node.name
    ends = [cable.ends if cable.ends[0].node.name == first else cable.ends[::-1] for cable in cables]
    crossed = [(near, far) for near, far in ends if _names(near) != _names(far)]
    near_names, far_names = ({name for pair in ends for name in _names(pair[at])} for at in (0, 1))
    if crossed and near_names and far_names:
        nodes = [end.node for end in crossed[0]]
        yield Finding(
            id="rails-crossed",
            severity="info",
            subject=", ".join(node.name for node in nodes),
            evidence=tuple(
                Evidence(file=near.node.name, text=f"{_listed(near)} meets {_listed(far)} on {far.node.name}")
                for near, far in crossed[:SHOWN]
            ),
            cause=ONE_LIST if near_names != far_names else OTHER_NUMBER,
            fix=(
                *_crossed_lines(nodes, [near_names, far_names]),
                "or exchange the plugs at one end, with the addresses",
            ),
        )


def _crossed_lines(nodes: list[Node], used: list[set[str]]) -> list[str]:
    if used[0] == used[1]:
        return ["on every rank: export NCCL_IB_SUBNET_AWARE_ROUTING=1"]
    ordered = [[name for name in active_names(node) if name in names] for node, names in zip(nodes, used, strict=True)]
    return node_lines((node.name, [_export(names)]) for node, names in zip(nodes, ordered, strict=True))


def _listed(end: End) -> str:
    return ", ".join(sorted(_names(end))) or end.ports[0].netdev.name


def _names(end: End) -> set[str]:
    return {one.hca.name for one in end.ports if one.hca is not None}


def order_of_subnets(fabric: Fabric) -> Iterator[Finding]:
    """rail-subnets-in-another-order: nodes with the same subnets on other HCAs, by NCCL's numbering.

    Without proven pairs only; where two nodes differ it may be that the cables cross.
    """
    groups: dict[Hashable, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for node in fabric.nodes:
        order = _subnets(roce_ports(node))
        if len(order) > 1 and len(set(order)) == len(order):
            groups[frozenset(order)].append((node.name, order))
    for votes in groups.values():
        found = split(votes)
        if found is not None:
            yield difference(_ORDER if found.odd else _ORDER._replace(severity="info", confidence="possible"), found)


def _subnets(ports: tuple[RocePort, ...]) -> tuple[str, ...]:
    """The subnet of each port in NCCL's order; () where one has none, or several."""
    ordered = sorted(ports, key=lambda one: one.hca.pci if isinstance(one.hca.pci, str) else one.hca.name)
    own = [[network for network, _address in networks(one.netdev) if not is_link_local(network)] for one in ordered]
    return tuple(found[0] for found in own) if all(len(found) == 1 for found in own) else ()


_ORDER = Told(
    "rail-subnets-in-another-order",
    "warning",
    "subnets of its HCAs, in NCCL's order",
    "These nodes have the subnets of the rails on HCAs of other numbers. NCCL pairs the k-th HCA of one node with the "
    "k-th of the other, so rail 0 dials rail 1: that fails where rails are separate, or goes astray.",
    lambda one: (
        f"on {one.key}: put the addresses (or the cables) in the order of {one.like}: {', '.join(one.usual)}",
    ),
    ("see where the cables lead: fabricdoc cables", "then put addresses and cables in one order on both nodes"),
    "likely",
    ", ".join,
)
