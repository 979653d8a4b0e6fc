"""Rules of one node's NCCL_IB_HCA against that node's own HCAs: it takes none, or more than it names.

What NCCL says of its list counts before dumps; a node without a log is judged by its dumps alone. The lists of nodes
against each other are `selection`'s.
"""

from __future__ import annotations

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Hit, Piece, Rule, Severity, listing, spots, words
from fabricdoc.explain.own import (
    HCA_LIST,
    elsewhere,
    in_force,
    networks_of,
    nodes_of,
    of_node,
    silent,
    told_hcas,
)
from fabricdoc.explain.rules.selection import filters, fits
from fabricdoc.explain.rules.stack import disabled, no_device
from fabricdoc.explain.seen import Seen, Set
from fabricdoc.explain.views import lists_of, ports
from fabricdoc.nccl import parse_selector

NOTHING = ("^", "^=")
"""Values that leave every device out."""


def ib_hca_matches_nothing(case: Case) -> Answer:
    """A node's filter is set, its list is empty, and none of its own ports says that it should not be."""
    none = no_device(case)
    for node in nodes_of(none):
        if hit := _by_log(case, node, of_node(none, node)):
            return hit
    return next((hit for node in told_hcas(case) if (hit := _by_ports(case, node))), None)


def filter_of(case: Case, node: str) -> Set | None:
    """The NCCL_IB_HCA in force on a node, where it leaves anything out."""
    each = in_force(case, HCA_LIST, node)
    return each if each and (each.value.strip("\"'^=") or each.value in NOTHING) else None


def _by_log(case: Case, node: str, none: list[Seen]) -> Answer:
    """NCCL says on this node that it has no device."""
    each = filter_of(case, node)
    if each is None or disabled(case, node):
        return None
    mine = ports(case, node)
    up = [port for port in mine if port.active]
    if any(fits(each.value, port.hca, port.number) for port in up):
        return None
    down = [port for port in mine if port.down and fits(each.value, port.hca, port.number)]
    refused = of_node(case.of("net.noneleft"), node)
    sought = () if up or down else ("rdma link of this node, to tell a wrong name from a port that is down",)
    filled = words(value=each.value, node=node, exact=",".join(port.hca for port in up))
    others = elsewhere(case, node)[:1]
    sockets = networks_of(case, node).get("Socket", [])[:1]
    evidence = spots(refused[:1], each, none[:2], [port.spot for port in (*down, *up)][:3], sockets, others)
    severity: Severity = "error" if refused or others else "warning"
    return Hit(evidence, filled, "certain" if up or down else "likely", sought, severity)


def _by_ports(case: Case, node: str) -> Answer:
    """No log tells what NCCL took on this node: its filter fits none of the HCAs that its dumps show."""
    each = filter_of(case, node)
    net = in_force(case, "NCCL_NET", node)
    wanted = net.value.strip("\"'").lower() if net else ""
    if each is None or not silent(case, node) or disabled(case, node) or wanted not in ("", "ib"):
        return None
    value = each.value.strip("\"'")
    there = told_hcas(case)[node]
    if any(fits(value, hca, port) for hca, port, _line in there):
        return None
    down = [port for port in ports(case, node) if port.down and fits(value, port.hca, port.number)]
    peers = _fitting_elsewhere(case, node)
    filled = words(value=each.value, node=node, exact=",".join(hca for hca, _port, _line in there))
    severity: Severity = "error" if wanted or peers else "warning"
    shown = spots(each, net, [port.spot for port in down[:2]], [line for _hca, _port, line in there[:3]], peers)
    return Hit(shown, filled, "certain" if ports(case, node) else "likely", (), severity)


def _fitting_elsewhere(case: Case, node: str) -> list[Piece]:
    """A line of another node whose own filter takes an HCA of its own: the two can't be joined."""
    for other, listed in told_hcas(case).items():
        each = filter_of(case, other)
        value = each.value.strip("\"'") if each else ""
        fitting = [line for hca, port, line in listed if not value or fits(value, hca, port)]
        if node and other and other != node and fitting:
            return [fitting[0].spot]
    return []


def ib_hca_prefix_match(case: Case) -> Answer:
    """An entry without = is a device's whole name, and others that begin with it are in NCCL's list too."""
    for each in filters(case):
        selector = parse_selector(each.value)
        if selector.exact or selector.excludes:
            continue
        for seen, listed in lists_of(case, each.spot.node):
            if extra := _beyond(each, [device.name for device in listed.devices]):
                told = [port.spot for port in ports(case, seen.spot.node) if port.hca in extra][:2]
                return Hit(spots(seen, each, told), _too_many(each, extra, seen.spot.node), "certain")
    return next((hit for node in told_hcas(case) if (hit := _prefix_by_ports(case, node))), None)


def _prefix_by_ports(case: Case, node: str) -> Answer:
    """The same of a node whose log is not there, by its active ports."""
    each = filter_of(case, node)
    if each is None or not silent(case, node) or disabled(case, node):
        return None
    extra = _beyond(each, [hca for hca, _port, _line in told_hcas(case)[node]])
    lines = [line for hca, _port, line in told_hcas(case)[node] if hca in extra]
    return Hit(spots(each, lines[:3]), _too_many(each, extra, node), "certain") if extra else None


def _beyond(each: Set, used: list[str]) -> list[str]:
    """The devices that a filter takes beside one whose whole name it holds."""
    selector = parse_selector(each.value.strip("\"'"))
    if selector.exact or selector.excludes:
        return []
    names = {entry.name for entry in selector.entries}
    whole = names & set(used)
    return [name for name in used if name not in names and any(name.startswith(one) for one in whole)]


def _too_many(each: Set, extra: list[str], node: str) -> dict[str, str]:
    exact = ",".join(entry.text for entry in parse_selector(each.value.strip("\"'")).entries)
    return words(value=each.value, extra=listing(extra), node=node, exact=exact)


RULES: dict[str, Rule] = {
    "ib-hca-matches-nothing": ib_hca_matches_nothing,
    "ib-hca-prefix-match": ib_hca_prefix_match,
}
