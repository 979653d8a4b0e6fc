"""NCCL_CROSS_NIC and the listed ports held against proven links: isolated rails, rings, ports without a peer.

Rails are isolated where two nodes meet on two wires or more that are not joined: a connection from one rail to another
never arrives (graph/search.cc, transport/net_ib). Only links that a scan proved count; without them nothing is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Node, PortKey
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_selectors import HCAS, hcas_of
from fabricdoc.nccl.numbers import number_at_start
from fabricdoc.nccl.remarks import few
from fabricdoc.nccl.selectors import expand

CROSS = "NCCL_CROSS_NIC"
MOST_NODES = 64
"""Nodes of which pairs are looked at; the rest are wired alike or scanned by themselves."""
Wire = frozenset[PortKey]


def crossing(values: Mapping[str, str], nodes: Sequence[Node], fabric: Fabric) -> Iterator[Complaint]:
    """What proven links say against NCCL_CROSS_NIC and NCCL_IB_HCA."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    wires = wires_of([link for link in links if link.kind in ("cable", "segment") and link.rdma is not False])
    taken = {key for node in nodes for key in _taken(node, values.get(HCAS, ""))}
    used = [frozenset(wire & taken) for wire in wires]
    yield from _cross_nic(values.get(CROSS, ""), used)
    if values.get(HCAS):
        yield from _without_peer(values, nodes, frozenset(key for wire in wires for key in wire))


def wires_of(links: Sequence[Link]) -> list[Wire]:
    """The ports that hear one another, wire by wire."""
    home: dict[PortKey, set[PortKey]] = {}
    for link in links:
        joined = home.get(link.a.key, {link.a.key}) | home.get(link.b.key, {link.b.key})
        for key in joined:
            home[key] = joined
    return list({id(wire): frozenset(wire) for wire in home.values()}.values())


def _taken(node: Node, value: str) -> Iterator[PortKey]:
    by_name = {hca.name: hca for hca in hcas_of(node)}
    for name, number in expand(value, hcas_of(node)).ports:
        for port in by_name[name].ports:
            if port.number == number and isinstance(port.netdev, str):
                yield node.name, port.netdev


def _cross_nic(value: str, used: Sequence[Wire]) -> Iterator[Complaint]:
    number = number_at_start(value)
    if number not in (0, 1):
        return
    met = Counter(pair for wire in used for pair in combinations(sorted({node for node, _ in wire})[:MOST_NODES], 2))
    most = max(met.values(), default=0)
    if number == 1 and most > 1:
        (first, second), wires = met.most_common(1)[0]
        message = (
            f"{first} and {second} meet on {wires} wires that are not joined: {CROSS}=1 lets a ring leave by one rail "
            "and arrive by another, and such a connection never comes up (errno 110)"
        )
        yield Complaint("contradiction", CROSS, message, f"{CROSS}=0", value, level="error")
    elif number == 0 and most == 1 and _is_ring(used):
        message = (
            "the nodes form a ring without a switch: each must send and receive by different ports, and "
            f"{CROSS}=0 forbids it"
        )
        yield Complaint("contradiction", CROSS, message, f"leave {CROSS} out", value, level="error")


def _is_ring(used: Sequence[Wire]) -> bool:
    """Whether every node meets two others, each on a wire of two nodes."""
    ends = [tuple(sorted({node for node, _ in wire})) for wire in used]
    pairs = {end for end in ends if len(end) == 2}
    nodes = {node for pair in pairs for node in pair}
    return len(nodes) > 2 and all(sum(node in pair for pair in pairs) == 2 for node in nodes)


def _without_peer(values: Mapping[str, str], nodes: Sequence[Node], met: Wire) -> Iterator[Complaint]:
    """Listed ports that meet nobody, on nodes where other listed ports do."""
    found: list[str] = []
    for node in nodes:
        taken = [*_taken(node, values[HCAS])]
        alone = [f"{name}/{netdev}" for name, netdev in taken if (name, netdev) not in met]
        found += alone if len(alone) < len(taken) else []
    if found:
        message = f"{HCAS} also takes {few(found)}, without a proven peer among the nodes"
        fix = f"take it out of {HCAS}, or scan the node at its other end too"
        yield Complaint("selector-matches-too-much", HCAS, message, fix, values[HCAS])
