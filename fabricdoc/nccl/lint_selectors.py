"""NCCL_IB_HCA, NCCL_SOCKET_IFNAME and their like on one node: what takes nothing, and what takes more than it names.

What NCCL takes is `selectors.expand`'s and `interfaces.take_interfaces`' answer, why an entry takes nothing `remarks`'.
Too much is: names that only begin alike, a port with the default route on it, a virtual function, a port without a
proven peer where others of the node have one is told by `lint_rails`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca, Node, Port
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.interfaces import take_interfaces
from fabricdoc.nccl.numbers import number_at_start
from fabricdoc.nccl.remarks import few, hca_remarks, interface_remarks
from fabricdoc.nccl.selectors import Entry, Selection, Selector, expand, matches, parse_selector

HCAS, SOCKETS = "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"
WHOLE_NAMES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
NOWHERE = re.compile(r"lo|docker\d*|br-[0-9a-f]+|virbr\d+|veth[0-9a-f]{6,}|cni\d+|flannel.*|cali.*|tailscale\d+|wg\d+")
"""Interfaces that lead to no other node, by the names that their makers give them."""
Values = Mapping[str, str]


def hcas_of(node: Node) -> tuple[Hca, ...]:
    """The node's HCAs; none where they are unknown."""
    return () if isinstance(node.hcas, Unknown) else node.hcas


def active_ports(node: Node) -> list[tuple[Hca, Port]]:
    """Ports that NCCL could take."""
    return [(hca, port) for hca in hcas_of(node) for port in hca.ports if port.state == "ACTIVE"]


def hca_names(values: Values, node: Node) -> Iterator[Complaint]:
    """What NCCL_IB_HCA takes on this node: nothing, too little or too much."""
    value = values.get(HCAS, "")
    if not value or not active_ports(node):
        return
    hcas = hcas_of(node)
    selection, selector = expand(value, hcas), parse_selector(value)
    if not selection.ports:
        why = "; ".join(hca_remarks(value, hcas, selection)[:2]) or f"it takes none of {few(_names(node))}"
        message = f"{HCAS} takes no ACTIVE port, and NCCL goes over TCP without a word ({why})"
        yield Complaint("selector-matches-nothing", HCAS, message, f"{HCAS}=={','.join(_names(node))}", value)
        return
    yield from _unmatched(value, selector, selection, hcas)
    yield from _alike(selector, hcas)
    yield from _off_fabric(node, selection, selector)


def _names(node: Node) -> list[str]:
    """The HCAs that a list for this node would name: active Ethernet ports that are no management port."""
    wanted = [hca.name for hca, port in active_ports(node) if not _doubt(node, hca, port)]
    return list(dict.fromkeys(wanted or [hca.name for hca, _ in active_ports(node)]))[:16]


def _unmatched(value: str, selector: Selector, selection: Selection, hcas: Sequence[Hca]) -> Iterator[Complaint]:
    """Entries under which no active port falls, although others take some."""
    lines = hca_remarks(value, hcas, selection)
    for entry in selector.entries:
        if entry.text in selection.unmatched:
            why = next(
                (line for line in lines if line.startswith(repr(entry.text))), f"{entry.text!r} fits no HCA here"
            )
            level = "info" if selector.excludes else "warning"
            fix = f"take {entry.text} out, or name what is meant"
            yield Complaint("selector-matches-nothing", HCAS, why, fix, entry.text, level=level)  # type: ignore[arg-type]


def _alike(selector: Selector, hcas: Sequence[Hca]) -> Iterator[Complaint]:
    """Without "=": entries that also take names which only begin alike."""
    active = [hca.name for hca in hcas if any(port.state == "ACTIVE" for port in hca.ports)]
    for entry in () if selector.exact else selector.entries:
        taken = [name for name in active if name.startswith(entry.name)]
        more = [name for name in taken if name != entry.name]
        sign = "^=" if selector.excludes else "="
        fix = f"{HCAS}={sign}{','.join(one.text for one in selector.entries)}"
        what = "excludes" if selector.excludes else "takes"
        if more and any(hca.name == entry.name for hca in hcas):
            message = f"without '=' {entry.name} is a beginning: it {what} {few(more)} too"
            yield Complaint("selector-matches-too-much", HCAS, message, fix, entry.text)
        elif len(more) > 1 and not selector.excludes:
            yield _wide(entry, [hca for hca in hcas if hca.name in more])


def _wide(entry: Entry, taken: Sequence[Hca]) -> Complaint:
    """A beginning that is no name: information, but for two ports of one card, which NCCL fuses."""
    names = [hca.name for hca in taken]
    fix = f"{HCAS}=={','.join(names[:16])} (take out what is not meant)"
    slots: dict[str, list[str]] = {}
    for hca in taken:
        slots.setdefault(hca.pci.rpartition(".")[0] if isinstance(hca.pci, str) else hca.name, []).append(hca.name)
    message = f"{entry.name} is a beginning that takes {len(names)} HCAs: {few(names)}"
    pair = next((pair for pair in slots.values() if len(pair) > 1), None)
    if pair is None:
        return Complaint("selector-matches-too-much", HCAS, message, fix, entry.text, level="info")
    message += f"; {' and '.join(pair[:2])} are ports of one card, two cables that NCCL fuses into one device"
    return Complaint("selector-matches-too-much", HCAS, message, fix, entry.text)


def _off_fabric(node: Node, selection: Selection, selector: Selector) -> Iterator[Complaint]:
    """Ports that are taken and should not carry NCCL."""
    by_name = {hca.name: hca for hca in hcas_of(node)}
    doubts = []
    for name, number in selection.ports:
        port = next((one for one in by_name[name].ports if one.number == number), None)
        if port is not None and (doubt := _doubt(node, by_name[name], port)):
            doubts.append((name, doubt))
    rest = [name for name, _ in selection.ports if name not in dict(doubts)]
    for name, doubt in doubts if rest else ():
        entry = next((one for one in selector.entries if matches(selector, one, name)), None)
        culprit = entry.text if entry and not selector.excludes else ""
        fix = f"{HCAS}=={','.join(dict.fromkeys(rest))}"
        yield Complaint("selector-matches-too-much", HCAS, f"{HCAS} also takes {name}, {doubt}", fix, culprit)


def _doubt(node: Node, hca: Hca, port: Port) -> str:
    """Why a port is hardly meant, "" where nothing speaks against it."""
    routes = () if isinstance(node.routes, Unknown) else node.routes
    if isinstance(port.netdev, str) and any(
        one.destination == "default" and one.netdev == port.netdev for one in routes
    ):
        return f"a management port: the default route leads over its interface {port.netdev}"
    if hca.physical_function is not None:
        return "a virtual function of another HCA"
    ethernet = any(one.link_layer == "Ethernet" for _, one in active_ports(node))
    if port.link_layer == "InfiniBand" and ethernet:
        return "InfiniBand, beside Ethernet ports that it can't reach"
    return ""


def interface_names(values: Values, node: Node) -> Iterator[Complaint]:
    """What the interface variables take on this node; nothing where its addresses were not read."""
    if isinstance(node.netdevs, Unknown) or not any(one.addresses for one in node.netdevs):
        return
    yield from _sockets(values, node)
    here = {one.name for one in node.netdevs}
    for name in WHOLE_NAMES:
        entries = [entry for entry in values.get(name, "").split(",") if entry]
        for entry in entries:
            if entry not in here:
                message = f"there is no interface {entry}: PyTorch's process group is never made"
                yield Complaint("selector-matches-nothing", name, message, f"{name}={_first(node)}", entry)


def _sockets(values: Values, node: Node) -> Iterator[Complaint]:
    value = values.get(SOCKETS, "")
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    found = take_interfaces(value, netdevs)
    if not value or found.ignored:
        return
    selector = parse_selector(value, 16)
    lines = interface_remarks(value, netdevs, found, hcas_of(node))
    if not found.taken:
        why = "; ".join(lines[:2])
        message = f"{SOCKETS} fits no interface that is up with an address: NCCL ends at its start ({why})"
        yield Complaint("selector-matches-nothing", SOCKETS, message, f"{SOCKETS}=={_first(node)}", value)
        return
    for entry in selector.entries:
        if entry.text in found.unmatched and not selector.excludes:
            why = next((line for line in lines if line.startswith(repr(entry.text))), f"{entry.text!r} fits nothing")
            fix = f"take {entry.text} out, or name what is meant"
            yield Complaint("selector-matches-nothing", SOCKETS, why, fix, entry.text, level="warning")
    astray = [name for name in found.taken if NOWHERE.fullmatch(name)]
    rest = [name for name in found.taken if name not in astray]
    if astray and not selector.exact:
        first = "" if found.taken[0] in rest else "; the first is what the bootstrap uses"
        message = f"{SOCKETS} also takes {few(astray)}, which leads to no other node{first}"
        fix = f"{SOCKETS}=={(rest or [_first(node)])[0]}"
        yield Complaint("selector-matches-too-much", SOCKETS, message, fix, "" if selector.excludes else value)


def _first(node: Node) -> str:
    """An interface of the node that could be meant."""
    netdevs = () if isinstance(node.netdevs, Unknown) else node.netdevs
    able = [
        one.name for one in netdevs if one.addresses and one.carrier is not False and not NOWHERE.fullmatch(one.name)
    ]
    return able[0] if able else "NAME"


def merged_names(values: Values, node: Node) -> Iterator[Complaint]:
    """NCCL_NET_FORCE_MERGE: every name must be an active HCA, else NCCL refuses to start."""
    names = [one for one in re.split("[,;]", values.get("NCCL_NET_FORCE_MERGE", "")) if one]
    active = {hca.name for hca, _ in active_ports(node)}
    for name in names if active else ():
        if name.partition(":")[0] not in active:
            message = f"{name} is no active HCA: NCCL refuses to start"
            fix = f"name some of {few(sorted(active))}"
            yield Complaint("selector-matches-nothing", "NCCL_NET_FORCE_MERGE", message, fix, name)


def switched_off(values: Values, node: Node) -> Iterator[Complaint]:
    """RDMA switched off on a node that has active HCAs."""
    active = [hca.name for hca, _ in active_ports(node)]
    name = "NCCL_IB_DISABLE" if number_at_start(values.get("NCCL_IB_DISABLE", "")) else "NCCL_NET"
    if active and (name == "NCCL_IB_DISABLE" or values.get("NCCL_NET", "").lower() == "socket"):
        message = f"{name} switches RDMA off although {few(active)} is ACTIVE: NCCL goes over TCP"
        yield Complaint("ib-disabled-by-env", name, message, f"leave {name} out", values[name])
