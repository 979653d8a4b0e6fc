"""Which of NCCL's settings beside the selectors matter on a proven fabric, which do not, and why.

CROSS_NIC, merging, subnet-aware routing, the order of devices, a second cable, rings. From NCCL's source (2.30.7:
graph/search.cc, graph/topo.cc, transport/net_ib) and what users of DGX Spark measured; nothing is tried here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.checks import Ring, is_gb10, segments_of
from fabricdoc.fabric.rails import Rail, RailPort, device_places
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Advice, Fabric, Hca, Node
from fabricdoc.nccl import fused, is_writable, parse_release

ROUTING = "NCCL_IB_SUBNET_AWARE_ROUTING"
ROUTING_SINCE = (2, 30, 7)
Ports = Mapping[str, Sequence[RailPort]]
NAMED = 4


def advice_on(
    fabric: Fabric, rails: Sequence[Rail], ring: Ring | None, ports: Ports, *, is_bootstrapped: bool
) -> tuple[Advice, ...]:
    """What to know beside the lists: `ports` are all that are listed, by node; `ring` where all nodes form one."""
    if not any(port.hca for listed in ports.values() for port in listed):
        return tuple(_left_out(fabric))
    wrong = misnumbered(fabric, rails)
    return (
        _cross_nic(fabric, rails, ring),
        _merging(fabric, ports, ring),
        _routing(fabric, ring, bool(wrong)),
        *([_device_order(fabric, rails, wrong)] if wrong else []),
        *_second_cable(fabric, rails),
        *_trees(ring),
        *([] if is_bootstrapped else [NO_BOOTSTRAP]),
        *_left_out(fabric),
    )


NO_BOOTSTRAP = Advice(
    topic="bootstrap",
    matters=True,
    why="No cable reaches all nodes and no other network is known to: give every node an address in one network (by "
    "the management port), and name that interface in NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME on each.",
)


def misnumbered(fabric: Fabric, rails: Sequence[Rail]) -> list[str]:
    """Nodes whose k-th HCA of the list, by NCCL's numbering, is not on the first node's k-th rail."""
    places = {key: place for node in fabric.nodes for key, place in device_places(node).items()}
    found = []
    for at, node in enumerate(fabric.nodes if rails else ()):
        numbers = [places.get((node.name, rail.ports[at].netdev), -1) for rail in rails]
        if numbers != sorted(numbers):
            found.append(node.name)
    return found


def _cross_nic(fabric: Fabric, rails: Sequence[Rail], ring: Ring | None) -> Advice:
    if ring is not None:
        why = (
            "In a ring every node must send and receive by different ports: never set NCCL_CROSS_NIC=0; unset, NCCL "
            "finds out by itself."
        )
        return Advice(topic="cross-nic", matters=True, why=why)
    if len(rails) < 2:
        return Advice(topic="cross-nic", matters=False, why="There is one rail, so there is nothing to cross.")
    if _wires(fabric, rails) > 1:
        why = (
            "The rails are on separate wires: a connection from one rail to another never arrives (errno 110). "
            "NCCL_CROSS_NIC=0 keeps every ring on its rail; 1 is wrong here."
        )
        return Advice(topic="cross-nic", matters=True, why=why, variables={"NCCL_CROSS_NIC": "0"})
    why = "All rails are on one wire, so any pair of ports meets: leave NCCL_CROSS_NIC unset, or measure 1."
    return Advice(topic="cross-nic", matters=False, why=why)


def _wires(fabric: Fabric, rails: Sequence[Rail]) -> int:
    """How many separate wires (cables, switches) the first node's rail ports are on."""
    wire = {
        (port.node.name, port.netdev.name): number
        for number, segment in enumerate(segments_of(fabric))
        for end in segment.ends
        for port in end.ports
    }
    return len({wire.get((rail.ports[0].node, rail.ports[0].netdev)) for rail in rails})


def _merging(fabric: Fabric, ports: Ports, ring: Ring | None) -> Advice:
    """Whether NCCL would fuse listed HCAs: functions of one PCI slot."""
    joined = next((group for node in fabric.nodes for group in fused(_listed(node, ports)) if group[1:]), ())
    names = "+".join(hca.name for hca in joined)
    if not joined:
        why = (
            "No two listed HCAs are functions of one PCI slot, so NCCL fuses none: NCCL_IB_MERGE_NICS changes nothing. "
            "Fusing by name (NCCL_NET_FORCE_MERGE) splits every message over its members; measure before using it."
        )
        return Advice(topic="merging", matters=False, why=why)
    if ring is not None:
        why = (
            f"NCCL fuses {names}, the two ends to different neighbours, and needs that here: only a fused device tells "
            "the peer the GIDs of both. Do not set NCCL_IB_MERGE_NICS=0 or NCCL_NET_MERGE_LEVEL=LOC."
        )
        return Advice(topic="merging", matters=True, why=why)
    why = (
        f"NCCL fuses {names}: functions of one PCI slot, which on a DGX Spark are two cages behind one x4 link, never "
        "the twins of a cage. Every message is split over both, so list one cable only, or set NCCL_IB_MERGE_NICS=0."
    )
    return Advice(topic="merging", matters=True, why=why, variables={"NCCL_IB_MERGE_NICS": "0"})


def _listed(node: Node, ports: Ports) -> list[Hca]:
    wanted = {port.hca for port in ports.get(node.name, ())}
    return [hca for hca in (() if isinstance(node.hcas, Unknown) else node.hcas) if hca.name in wanted]


def _routing(fabric: Fabric, ring: Ring | None, is_misnumbered: bool) -> Advice:
    if ring is None and not is_misnumbered:
        why = "The k-th listed HCA of every node meets the k-th of the others, as NCCL pairs them: leave it unset."
        return Advice(topic="subnet-routing", matters=False, why=why)
    reason = "each HCA reaches one neighbour only" if ring else "NCCL's numbering pairs ports that do not meet"
    why = (
        f"Here {reason}; with {ROUTING}=1 NCCL looks for the HCA that shares a subnet with the peer. It needs NCCL "
        f"2.30.7 or later{_too_old(fabric)}, and a subnet of its own for every cable and twin."
    )
    return Advice(topic="subnet-routing", matters=True, why=why, variables={ROUTING: "1"})


def _too_old(fabric: Fabric) -> str:
    """ " (spark-b has 2.28.9)" where a node's NCCL is known not to read the variable."""
    for node in fabric.nodes:
        for library in () if isinstance(node.host.libnccl, Unknown) else node.host.libnccl:
            release = parse_release(library.version) if isinstance(library.version, str) else None
            if release is not None and release < ROUTING_SINCE:
                return f" ({node.name} has {'.'.join(map(str, release))}, which ignores it)"
    return ""


def _device_order(fabric: Fabric, rails: Sequence[Rail], wrong: Sequence[str]) -> Advice:
    name = wrong[0]
    many = f" (and {len(wrong) - 1} more nodes)" if len(wrong) > 1 else ""
    cures = [
        *(
            ["swap the addresses of the twins there"]
            if _twins_only(fabric, rails, name)
            else ["exchange the plugs there"]
        ),
        f"or set {ROUTING}=1 on every rank (2.30.7 and later)",
        "or list fewer ports: one cable, or one port",
    ]
    why = (
        f"NCCL numbers HCAs by PCI address and connects the k-th of one node to the k-th of the other, whatever the "
        f"order in NCCL_IB_HCA. On {name}{many} that pairs ports that do not meet in one subnet: {'; '.join(cures)}."
    )
    return Advice(topic="device-order", matters=True, why=why, variables={ROUTING: "1"})


def _twins_only(fabric: Fabric, rails: Sequence[Rail], name: str) -> bool:
    """Whether all rails lie in one cage of the node, so that only addresses decide which twin is which."""
    node = next(node for node in fabric.nodes if node.name == name)
    used = {rail.port(name).hca for rail in rails}
    return any(used <= set(cage.hcas) for cage in node.cages)


def _second_cable(fabric: Fabric, rails: Sequence[Rail]) -> Iterator[Advice]:
    """Two cages of a GB10 to the same peer: four functions on two PCIe links, which one cable fills already."""
    for at, node in enumerate(fabric.nodes):
        used = {rail.ports[at].hca for rail in rails}
        cages = [cage for cage in node.cages if used & set(cage.hcas)]
        if is_gb10(node) and len(cages) > 1:
            why = (
                "Two cables with four functions: the cages share two Gen5 x4 links, which the twins of one cable fill "
                "(185 to 190 Gb/s). The second cable brings NCCL nothing; list the twins of one cable."
            )
            yield Advice(topic="second-cable", matters=True, why=why)
            return


def _trees(ring: Ring | None) -> Iterator[Advice]:
    if ring is not None and len(ring.nodes) > 3:
        why = (
            "Nodes of the ring that are no neighbours have no path, so trees fail (at their first use: connections are "
            "made late since 2.22), and so does PAT. Ring is the algorithm that works."
        )
        yield Advice(topic="ring", matters=True, why=why, variables={"NCCL_ALGO": "ring"})


def _left_out(fabric: Fabric) -> Iterator[Advice]:
    """Ports with a proven peer that no list can name."""
    ends = [end for link in (() if isinstance(fabric.links, Unknown) else fabric.links) for end in (link.a, link.b)]
    strange = {(end.node, end.netdev) for end in ends if not is_writable(end)}
    if strange:
        shown = ", ".join(f"{node}/{netdev}" for node, netdev in sorted(strange)[:NAMED])
        why = f"Left out, since no variable can hold their names: {shown}. Rename the interface or device."
        yield Advice(topic="left-out", matters=True, why=why)
