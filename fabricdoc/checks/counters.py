"""What a node's counters say, by the table of presets/checks/counters.toml.

Totals since the driver started prove little, so most rules look at growth and need a watched scan. A direct cable is
judged harder than a switch. Even or uneven use of twins is no fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from fabricdoc.checks.limits import checks_data
from fabricdoc.checks.ports import hcas_of, netdevs_of
from fabricdoc.checks.wording import seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric, Node
from fabricdoc.model.findings import Finding, Severity

RANK: Mapping[Severity, int] = {"error": 0, "warning": 1, "info": 2}
PRIORITIES = range(8)


class Rule(NamedTuple):
    """One row of the table for one counter; `priority` is set for counters of one traffic class."""

    rule: str
    finding: str
    severity: Severity
    at_least: int = 1
    per_second: float = 0.0
    share: float = 0.0
    direct: str = ""
    lossless: bool = False
    weak: bool = False
    priority: int = -1


class Hit(NamedTuple):
    """A counter that broke its rule, and the text that says so."""

    rule: Rule
    text: str


@cache
def rules() -> Mapping[tuple[str, str], Rule]:
    """(source, counter) -> its rule, counters of a priority written out for all eight."""
    found: dict[tuple[str, str], Rule] = {}
    for row in checks_data("counters")["counter"]:
        plain: dict[str, Any] = {key: value for key, value in row.items() if key not in ("names", "source")}
        for name in row["names"]:
            for number in PRIORITIES if "{priority}" in name else (-1,):
                found[row["source"], name.format(priority=number)] = Rule(**plain, priority=number)
    return found


def check_counters(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding per node, port and id, with every counter that led to it."""
    cabled = _cabled(fabric)
    return tuple(finding for node in fabric.nodes for finding in node_counters(node, cabled))


def _cabled(fabric: Fabric) -> set[tuple[str, str]]:
    """(node, netdev) of every end of a proven direct cable."""
    links = () if isinstance(fabric.links, Unknown) else fabric.links
    return {(end.node, end.netdev) for link in links if link.kind == "cable" for end in (link.a, link.b)}


def node_counters(node: Node, cabled: set[tuple[str, str]]) -> Iterator[Finding]:
    """The findings of one node's counters; counters of devices without a netdev here are told by their subject."""
    if isinstance(node.counters, Unknown):
        return
    named = {f"{hca.name}/{port.number}": port.netdev for hca in hcas_of(node) for port in hca.ports}
    known = {name for name in named.values() if isinstance(name, str)}
    found: dict[tuple[str, str], list[Hit]] = {}
    for one in node.counters:
        netdev = named.get(one.subject, one.subject)
        if netdev not in known and one.subject not in named:
            continue
        port = netdev if isinstance(netdev, str) else one.subject
        for hit in _hits(node, one, port, (node.name, port) in cabled):
            found.setdefault((hit.rule.finding, port), []).append(hit)
    for (id, port), hits in found.items():
        yield _finding(node, id, port, hits, (node.name, port) in cabled)


def _hits(node: Node, one: Counters, port: str, direct: bool) -> Iterator[Hit]:
    for name in one.values.keys() | one.deltas.keys():
        rule = rules().get((one.source, name))
        if rule is None or (rule.lossless and not _protected(node, port, rule.priority)):
            continue
        if text := _broken(rule, one, name, node.watched_s, direct):
            yield Hit(rule, f"{one.subject} {name} {text}")


def _broken(rule: Rule, one: Counters, name: str, watched_s: float, direct: bool) -> str:
    """Why this counter is bad, "" where it is not."""
    total, delta = one.values.get(name, 0), one.deltas.get(name, 0)
    how = rule.direct if direct and rule.direct else rule.rule
    if how == "any":
        return f"{total} since the driver started, bad above 0" if total > 0 else ""
    if watched_s <= 0 or delta <= 0:
        return ""
    grew = f"grew by {delta} in {watched_s:g} s"
    if how == "growth":
        return f"{grew}, bad from {rule.at_least}" if delta >= rule.at_least else ""
    if how == "rate":
        return f"{grew}, bad from {rule.per_second:g} a second" if delta >= rule.per_second * watched_s else ""
    paused = delta / (watched_s * 1e6)
    return f"grew by {delta} us in {watched_s:g} s, bad above {rule.share:.0%}" if paused > rule.share else ""


def _protected(node: Node, port: str, priority: int) -> bool:
    """Whether PFC is on for this priority of the port."""
    netdev = next((one for one in netdevs_of(node) if one.name == port), None)
    if netdev is None or isinstance(netdev.qos, Unknown) or isinstance(netdev.qos.pfc, Unknown):
        return False
    return len(netdev.qos.pfc) > priority >= 0 and netdev.qos.pfc[priority]


def _finding(node: Node, id: str, port: str, hits: list[Hit], direct: bool) -> Finding:
    said: Mapping[str, Any] = checks_data("counters")["finding"][id]
    more = said.get("direct" if direct else "switched", "")
    fixes: list[str] = said.get("fix_direct", said["fix"]) if direct else said["fix"]
    weak = all(hit.rule.weak for hit in hits) and not direct
    return Finding(
        id=id,
        severity=min((hit.rule.severity for hit in hits), key=RANK.__getitem__),
        subject=f"{node.name}/{port}",
        evidence=seen(node, *sorted(hit.text for hit in hits)[:16]),
        cause=f"{said['cause']} {more}".strip(),
        fix=(f"on {node.name}:", *(one.format(port=port) for one in fixes)),
        confidence="possible" if weak else "likely",
    )
