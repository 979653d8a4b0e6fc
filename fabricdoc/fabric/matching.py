"""What a value of NCCL_IB_HCA or NCCL_SOCKET_IFNAME would take on every node, and whom those ports are proven to meet.

The grammar is NCCL's (`fabricdoc.nccl`); links come from the cable map. Answers a question and judges no node: what a
node's own variables do is found by `fabricdoc.checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from fabricdoc.checks import rings_of
from fabricdoc.errors import UsageError
from fabricdoc.fabric.rails import can_carry, ipv4_networks, joined_ports
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Hca, Match, MatchedPort, Node, NodeMatch, PortKey
from fabricdoc.nccl import (
    IGNORED_BELOW,
    MOST_ENTRIES,
    MOST_NAMES,
    expand,
    hca_remarks,
    in_device_order,
    interface_remarks,
    reading,
    take_interfaces,
)

Named = Literal["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"]
HCA: Named = "NCCL_IB_HCA"
INTERFACE: Named = "NCCL_SOCKET_IFNAME"
KNOWN: tuple[Named, ...] = (HCA, INTERFACE)
ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
MOST_VALUE = 4096
MOST_REMARKS = 8
NOTHING = "it takes no ACTIVE port: NCCL falls back to TCP with one line in its log, or ends where NCCL_NET=IB is set"
NO_INTERFACE = "it takes no interface: NCCL ends at start with 'no socket interface found'"


class Question(NamedTuple):
    """A variable and the value that is asked about."""

    variable: Named
    value: str


def questions(words: Sequence[str]) -> tuple[Question, ...]:
    """What the words of --match ask: VALUE (of NCCL_IB_HCA), NCCL_IB_HCA=VALUE or NCCL_SOCKET_IFNAME=VALUE.

    Raises UsageError for another variable, and for a value that no environment can hold.
    """
    return tuple(_question(word) for word in dict.fromkeys(words))


def _question(word: str) -> Question:
    if "\0" in word or len(word) > MOST_VALUE or not _is_utf8(word):
        raise UsageError(f"--match: a value is UTF-8 text without NUL of at most {MOST_VALUE} bytes")
    assigned = ASSIGNED.fullmatch(word)
    if assigned is None:
        return Question(HCA, word)
    for variable in KNOWN:
        if assigned[1] == variable:
            return Question(variable, assigned[2])
    raise UsageError(
        f"--match reads {HCA} and {INTERFACE}, not {assigned[1]}",
        fix=f"--match '{HCA}={assigned[2]}', if that is what you mean",
    )


def _is_utf8(word: str) -> bool:
    try:
        return len(word.encode()) <= MOST_VALUE
    except UnicodeEncodeError:
        return False


def matched(fabric: Fabric, asked: Sequence[Question]) -> Fabric:
    """The fabric with what each of the values takes on each of its nodes."""
    wires = _Wires(fabric)
    return fabric.model_copy(update={"matches": tuple(_match(fabric, wires, one) for one in asked)})


class _Wires:
    """Whom every port meets, by proven links that carry both ways, and its IPv4 networks."""

    def __init__(self, fabric: Fabric) -> None:
        self.unknown = fabric.links if isinstance(fabric.links, Unknown) else None
        links = [] if isinstance(fabric.links, Unknown) else [one for one in fabric.links if can_carry(one)]
        between = [one for one in links if one.a.node != one.b.node]
        self._peers: dict[PortKey, list[str]] = {}
        for link in between:
            for one, other in (link.ends, link.ends[::-1]):
                self._peers.setdefault(one, []).append("/".join(other))
        groups = joined_ports(between)
        self._group = {(port.node, port.netdev): number for number, group in enumerate(groups) for port in group}
        self.in_ring = any(len(ring.nodes) == len(fabric.nodes) for ring in rings_of(fabric))
        self._networks = {key: networks for node in fabric.nodes for key, networks in ipv4_networks(node).items()}

    def peers(self, port: PortKey) -> Fact[tuple[str, ...]]:
        return self.unknown or tuple(dict.fromkeys(self._peers.get(port, ())))

    def apart(self, one: PortKey, other: PortKey) -> str:
        """Why the two do not meet; "" where they do, or where nothing is known."""
        if self._group.get(one) is None or self._group.get(one) != self._group.get(other):
            return "no proven link joins them"
        here, there = self._networks.get(one), self._networks.get(other)
        return "they share no subnet" if here and there and not here & there else ""


def _match(fabric: Fabric, wires: _Wires, asked: Question) -> Match:
    is_hca = asked.variable == HCA
    nodes = tuple((_hcas_of if is_hca else _interfaces_of)(node, wires, asked.value) for node in fabric.nodes)
    together = tuple(_together(wires, nodes)) if is_hca else ()
    more = len(together) - MOST_REMARKS
    told = (*together[:MOST_REMARKS], f"and {more} more like these") if more > 0 else together
    return Match(variable=asked.variable, value=asked.value, reading=_reading(asked), nodes=nodes, remarks=told)


def _reading(asked: Question) -> str:
    if asked.variable == HCA:
        return reading(asked.value, "HCA", MOST_ENTRIES)
    if len(asked.value) < IGNORED_BELOW:
        return "what NCCL chooses by itself: a value this short counts as none"
    return reading(asked.value, "interface", MOST_NAMES)


def _hcas_of(node: Node, wires: _Wires, value: str) -> NodeMatch:
    if isinstance(node.hcas, Unknown):
        return NodeMatch(node=node.name, ports=node.hcas)
    selection = expand(value, node.hcas)
    netdevs = {(hca.name, port.number): port.netdev for hca in node.hcas for port in hca.ports}
    ports = [
        _port(node, wires, netdevs[name, number], hca=name, port=number)
        for name, number in _in_order(node.hcas, selection.ports)
    ]
    remarks = (
        *hca_remarks(value, node.hcas, selection),
        *_of_order(node.hcas, ports),
        *([] if ports else [NOTHING]),
    )
    return NodeMatch(node=node.name, ports=tuple(ports), remarks=remarks)


def _in_order(hcas: Sequence[Hca], ports: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """As NCCL numbers them."""
    places = {hca.name: at for at, hca in enumerate(in_device_order(hcas))}
    return sorted(ports, key=lambda one: (places[one[0]], one[1]))


def _of_order(hcas: Sequence[Hca], ports: Sequence[MatchedPort]) -> Iterator[str]:
    if len(ports) > 1 and any(isinstance(hca.pci, Unknown) for hca in hcas):
        yield "in which order NCCL numbers them is not known: PCI addresses were not read"


def _interfaces_of(node: Node, wires: _Wires, value: str) -> NodeMatch:
    if isinstance(node.netdevs, Unknown):
        return NodeMatch(node=node.name, ports=node.netdevs)
    found = take_interfaces(value, node.netdevs)
    ports = tuple(_port(node, wires, name) for name in found.taken)
    hcas = () if isinstance(node.hcas, Unknown) else node.hcas
    remarks = (*interface_remarks(value, node.netdevs, found, hcas), *([] if ports else [NO_INTERFACE]))
    return NodeMatch(node=node.name, ports=ports, remarks=remarks)


def _port(
    node: Node, wires: _Wires, netdev: Fact[str], *, hca: str | None = None, port: int | None = None
) -> MatchedPort:
    peers: Fact[tuple[str, ...]] = Unknown(unknown="its interface is not known")
    if isinstance(netdev, str):
        peers = wires.peers((node.name, netdev))
    return MatchedPort(netdev=netdev, hca=hca, port=port, peers=peers)


def _together(wires: _Wires, nodes: Sequence[NodeMatch]) -> Iterator[str]:
    """What is wrong with the nodes' devices together: how many they are, and which NCCL pairs that do not meet."""
    taken = {one.node: one.ports for one in nodes if not isinstance(one.ports, Unknown)}
    first = next(iter(taken), "")
    for node in [name for name in taken if len(taken[name]) != len(taken[first])]:
        yield (
            f"{first} takes {len(taken[first])} devices and {node} {len(taken[node])}: the number should be equal, and "
            "NCCL 2.30.3 and later warn of it"
        )
    if wires.unknown is None and not wires.in_ring:  # in a ring NCCL reaches each neighbour by another port
        for node in list(taken)[1:]:
            yield from _misses(wires, (first, taken[first]), (node, taken[node]))


def _misses(
    wires: _Wires, one: tuple[str, Sequence[MatchedPort]], other: tuple[str, Sequence[MatchedPort]]
) -> Iterator[str]:
    """Devices that NCCL pairs by their number, and that do not meet."""
    for number, (a, b) in enumerate(zip(one[1], other[1], strict=False)):
        if isinstance(a.netdev, str) and isinstance(b.netdev, str) and a.peers and b.peers:
            why = wires.apart((one[0], a.netdev), (other[0], b.netdev))
            if why:
                yield f"NCCL pairs device {number} of each node: {one[0]} {a.hca} with {other[0]} {b.hca}, and {why}"
