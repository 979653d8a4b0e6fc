"""Which HCAs NCCL would take on a node with the NCCL_IB_HCA it has, and what is wrong with that.

The grammar is NCCL's (`fabricdoc.nccl.expand`). Whether the peer has the same names is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import cage_ports, hcas_of, roce_ports
from fabricdoc.checks.variables import Variable, variable
from fabricdoc.checks.wording import exported, listed, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca, Node, Port
from fabricdoc.model.findings import Finding, Severity
from fabricdoc.nccl import Selection, expand, parse_selector

VARIABLE = "NCCL_IB_HCA"
ELSEWHERE = "another network namespace"
"""The probe's words for an interface that is not in its own namespace."""


def check_selection(fabric: Fabric) -> tuple[Finding, ...]:
    """Selectors that take nothing, less or more than they name, one twin of a cage, and HCAs out of reach."""
    return of_nodes(fabric, nothing_taken, entries_without_port, more_than_named, one_twin, out_of_reach, merge_names)


def selected(node: Node) -> tuple[Variable, Selection] | None:
    """The selector and what it takes; None where none is set or the node has no active port."""
    found = variable(node, VARIABLE)
    if found is None or not _active(node):
        return None
    return found, expand(found.value, hcas_of(node))


def taken_hcas(node: Node) -> set[str]:
    """Names of the HCAs that NCCL takes on this node."""
    found = variable(node, VARIABLE)
    return {name for name, _port in expand(found.value if found else "", hcas_of(node)).ports}


def _active(node: Node) -> list[str]:
    return [hca.name for hca in hcas_of(node) if any(port.state == "ACTIVE" for port in hca.ports)]


def nothing_taken(node: Node) -> Iterator[Finding]:
    """A selector under which no active port falls, on a node that has some."""
    found = selected(node)
    if found and not found[1].ports:
        yield Finding(
            id="ib-hca-matches-nothing",
            severity="error",
            subject=node.name,
            evidence=seen(node, found[0].text(), f"active HCAs: {', '.join(_active(node)[:16])}"),
            cause="The selector fits no active HCA of this node: NCCL finds no device and runs over TCP, with one line "
            "in its log. Names are case sensitive, and blanks count.",
            fix=(f"on {node.name}: {exported(VARIABLE, '=' + _usable(node))}",),
            confidence="likely",
        )


def _usable(node: Node) -> str:
    """The usable physical functions as a list, else every active HCA."""
    names = [one.hca.name for one in roce_ports(node) if one.hca.physical_function is None]
    return ",".join(dict.fromkeys(names or _active(node)))


def entries_without_port(node: Node) -> Iterator[Finding]:
    """Entries that take no active port beside others that do: a rail is missing, without a word in the log.

    On GB10 guides list all four HCAs whatever is cabled, so there a list with an empty cage is information.
    """
    found = selected(node)
    if not found or not found[1].ports or not found[1].unmatched or parse_selector(found[0].value).excludes:
        return
    hint, selection = found
    severity: Severity = "info" if selection.inactive and is_gb10(node) else "warning"
    down = [f"{name}:{port}" for name, port in selection.inactive]
    yield Finding(
        id="ib-hca-port-down" if down else "ib-hca-entry-unknown",
        severity=severity,
        subject=node.name,
        evidence=seen(
            node,
            hint.text(),
            f"takes nothing: {', '.join(repr(one) for one in selection.unmatched[:16])}",
            *([f"not ACTIVE: {', '.join(down[:16])}"] if down else []),
            f"active HCAs: {', '.join(_active(node)[:16])}",
        ),
        cause="Part of the selector names ports that are not active here (a cable that is not in, or a list made for "
        "another node). NCCL leaves them out without a word and uses the rest."
        if down
        else "Part of the selector fits no HCA of this node: a misspelt name, or a list made for another node. NCCL "
        "leaves it out without a word and uses the rest.",
        fix=(f"on {node.name}: {exported(VARIABLE, '=' + _usable(node))}",),
        confidence="likely",
    )


def more_than_named(node: Node) -> Iterator[Finding]:
    """A name without "=" that is a device's whole name and also begins others' (mlx5_1: mlx5_10; a VF)."""
    found = variable(node, VARIABLE)
    selector = parse_selector(found.value) if found else None
    if found is None or selector is None or selector.exact:
        return
    active, named = set(_active(node)), {entry.name for entry in selector.entries}
    extra: dict[str, str] = {}
    for hca in hcas_of(node):
        longer = [name for name in named if hca.name != name and hca.name.startswith(name)]
        if hca.name in active and hca.name not in named and any(_is_device(node, name, hca) for name in longer):
            extra[hca.name] = longer[0]
    if extra:
        sign = "^=" if selector.excludes else "="
        yield Finding(
            id="ib-hca-prefix-match",
            severity="warning",
            subject=node.name,
            evidence=seen(
                node, found.text(), *(f"{short} also fits {name}" for name, short in list(extra.items())[:16])
            ),
            cause=f"Without '=' NCCL compares only the beginning of names, so this list also "
            f"{'leaves out' if selector.excludes else 'takes'} {listed(sorted(extra)[:8])}.",
            fix=(f"on {node.name}: {exported(VARIABLE, sign + ','.join(entry.text for entry in selector.entries))}",),
            confidence="likely",
        )


def _is_device(node: Node, name: str, longer: Hca) -> bool:
    """Whether a name was meant whole: some device is called so, or the longer one is a VF."""
    return longer.physical_function is not None or any(hca.name == name for hca in hcas_of(node))


def one_twin(node: Node) -> Iterator[Finding]:
    """A cage with two active HCAs of which the selector takes one: half of its bandwidth."""
    found = variable(node, VARIABLE)
    if found is None:
        return
    taken = taken_hcas(node)
    for cage, up in cage_ports(node):
        names = [one.hca.name for one in up]
        left = [name for name in names if name not in taken]
        if left and len(left) < len(names):
            used = [name for name in names if name in taken]
            yield Finding(
                id="gb10-one-function-of-port-used",
                severity="warning",
                subject=f"{node.name}/{left[0]}",
                evidence=seen(node, found.text(), f"one cage: {', '.join(names)} (by {cage.by}), all ACTIVE"),
                cause=f"The cage of {used[0]} has a second HCA, {listed(left)}, on a PCIe link of its own. One alone "
                "carries about 100 of 200 Gb/s: large messages take twice as long, small ones do not.",
                fix=(f"on {node.name}: {exported(VARIABLE, '=' + ','.join(sorted({*taken, *left})))}",),
                confidence="likely",
            )


def out_of_reach(node: Node) -> Iterator[Finding]:
    """Active HCAs that NCCL takes although their interface is in another namespace, beside usable ones."""
    usable, taken = {one.hca.name for one in roce_ports(node)}, taken_hcas(node)
    away = [hca.name for hca in hcas_of(node) if hca.name in taken - usable and any(map(_is_away, hca.ports))]
    if usable and away:
        found = variable(node, VARIABLE)
        yield Finding(
            id="unusable-hca-visible",
            severity="warning",
            subject=node.name,
            evidence=seen(
                node,
                found.text() if found else f"{VARIABLE} is not set: every active HCA is taken",
                f"no interface here: {', '.join(away[:16])}",
            ),
            cause=f"NCCL sees {listed(away[:8])} and takes what is active, but their interfaces are in another network "
            "namespace: connections over them fail or time out.",
            fix=(f"on {node.name}: {exported(VARIABLE, '=' + _usable(node))}",),
            confidence="likely",
        )


def _is_away(port: Port) -> bool:
    """Whether the interface of an active port is known to be in another network namespace."""
    netdev = port.netdev
    told = netdev.unknown if isinstance(netdev, Unknown) else ELSEWHERE
    return port.state == "ACTIVE" and port.link_layer == "Ethernet" and ELSEWHERE in told


def merge_names(node: Node) -> Iterator[Finding]:
    """NCCL_NET_FORCE_MERGE with a name that is no active HCA: NCCL then refuses to start."""
    found = variable(node, "NCCL_NET_FORCE_MERGE")
    if found is None or not _active(node):
        return
    names = [name for group in found.value.split(";") for name in group.split(",") if name]
    strange = [name for name in names if name.partition(":")[0] not in _active(node)]
    if strange:
        yield Finding(
            id="force-merge-unknown-hca",
            severity="error",
            subject=node.name,
            evidence=seen(node, found.text(), f"active HCAs: {', '.join(_active(node)[:16])}"),
            cause=f"NCCL is told to fuse {listed([repr(one) for one in strange[:8]])}, which is no active HCA here: it "
            "ends with 'invalid usage' at start.",
            fix=(f"on {node.name}: unset NCCL_NET_FORCE_MERGE, or name HCAs of this node",),
            confidence="likely",
        )
