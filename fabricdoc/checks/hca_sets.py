"""What each node brings into a communicator: how many HCAs of which kind NCCL would take, held against one another."""

from __future__ import annotations

from collections import Counter, defaultdict

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import split
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.remembered import remembered
from fabricdoc.checks.segments import segments_of
from fabricdoc.checks.variables import variable
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Hca, Node, Port
from fabricdoc.model.findings import Finding

Kind = tuple[str, str]  # model, link layer
Kinds = tuple[tuple[Kind, int], ...]


def check_hca_sets(fabric: Fabric) -> tuple[Finding, ...]:
    """hca-sets-differ-between-nodes: number or kind of the HCAs differ; an error where link layers exclude each other.

    Nodes cabled to two others without a switch (chains, rings) rightly have more than those at the ends.
    """
    if _has_chain(fabric):
        return ()
    told = _told_everywhere(fabric)
    sets = {node.name: taken_kinds(node, told) for node in fabric.nodes}
    found = split(sets.items())
    if found is None:
        return ()
    layers = [{layer for (_model, layer), _count in kinds} for kinds in sets.values() if not isinstance(kinds, Unknown)]
    apart = "link_layer" in told and any(layers) and not set.intersection(*(one for one in layers if one))
    return (difference(_APART if apart else _MORE, found),)


def _told_everywhere(fabric: Fabric) -> frozenset[str]:
    """Which of model, driver and link layer are known of every HCA: what one does not tell is compared of none."""
    hcas = [hca for node in fabric.nodes for hca in hcas_of(node)]
    layers = [port.link_layer for hca in hcas for port in hca.ports]
    known = {
        "hca_type": not any(isinstance(hca.hca_type, Unknown) for hca in hcas),
        "driver": not any(isinstance(hca.driver, Unknown) for hca in hcas),
        "link_layer": not any(isinstance(layer, Unknown) for layer in layers),
    }
    return frozenset(name for name, told in known.items() if told)


def taken_kinds(node: Node, told: frozenset[str]) -> Fact[Kinds]:
    """How many ACTIVE ports of each model and link layer NCCL would take: those of NCCL_IB_HCA, or all."""
    if isinstance(node.hcas, Unknown):
        return node.hcas
    if any(isinstance(port.state, Unknown) for hca in node.hcas for port in hca.ports):
        return Unknown(unknown="the state of a port was not read")
    taken = set(taken_ports(node))
    ports = ((hca, port) for hca in hcas_of(node) for port in hca.ports if (hca.name, port.number) in taken)
    return tuple(sorted(Counter(_kind(hca, port, told) for hca, port in ports).items()))


@remembered
def taken_ports(node: Node) -> tuple[tuple[str, int], ...]:
    """(HCA, port) that NCCL would take on this node, by NCCL_IB_HCA where it is set there."""
    from fabricdoc.nccl import expand

    selector = variable(node, "NCCL_IB_HCA")
    return expand(selector.value if selector else "", hcas_of(node)).ports


def _kind(hca: Hca, port: Port, told: frozenset[str]) -> Kind:
    model = hca.hca_type if "hca_type" in told else hca.driver if "driver" in told else "HCA"
    return str(model), str(port.link_layer) if "link_layer" in told else ""


def _has_chain(fabric: Fabric) -> bool:
    peers: dict[str, set[str]] = defaultdict(set)
    for segment in segments_of(fabric):
        if segment.is_cable:
            first, second = (end.node.name for end in segment.ends)
            peers[first].add(second)
            peers[second].add(first)
    return any(len(others) > 1 for others in peers.values())


def _show(kinds: Kinds) -> str:
    return ", ".join(f"{count} x {model}{f' ({layer})' if layer else ''}" for (model, layer), count in kinds) or "none"


_MORE = Told(
    "hca-sets-differ-between-nodes",
    "warning",
    "ports NCCL would take",
    "The nodes bring different HCAs into a job. NCCL pairs them by number, so what one node has too many meets "
    "nothing: newer versions (2.30.3 and later) warn, and channels over it fail or hang.",
    lambda one: (
        f"on {one.key}: bring up what is missing, or list only the common ones there in NCCL_IB_HCA (with =): "
        f"{_show(one.value)} instead of {_show(one.usual)}",
    ),
    ("list on each node, in NCCL_IB_HCA with =, only the HCAs that have a partner on the other",),
    "likely",
    _show,
)
_APART = _MORE._replace(
    severity="error",
    cause="The nodes have no link layer in common: one side is Ethernet (RoCE), the other InfiniBand. They can't "
    "connect over RDMA, and NCCL falls back to TCP or fails.",
    both=("take nodes of one link layer, or set the ports of dual-protocol HCAs to the same one",),
    confidence="certain",
)
