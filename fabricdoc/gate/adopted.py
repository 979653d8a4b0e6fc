"""What the checks room found, as answers of the gate: it judged the facts, the gate only says what is a no.

Each row of presets/gate names the findings that are a no for it. A node without such a finding is fine by it. Facts are
not looked at here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fabricdoc.gate.catalogue import Kind, kinds
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck, Outcome

BY_FINDINGS = (
    "nccl-alike",
    "mtu-alike",
    "env",
    "gpu-clocks",
    "rdma-devices",
    "libibverbs",
    "ports-reached",
    "clock",
    "kernel-log",
    "counters",
)
"""Rows that findings alone answer; others are compared or counted, and take only their words from findings."""
MOST_FOUND = 200


def adopted(fabric: Fabric) -> list[GateCheck]:
    """The answers of every row that findings decide, for each node that was read."""
    ports = {node.name: netdevs_of(node) for node in fabric.nodes}
    told = [(finding, places(finding, ports)) for finding in fabric.findings]
    return [check for id in BY_FINDINGS for check in _of_row(kinds()[id], fabric.nodes, told)]


def _of_row(kind: Kind, nodes: Sequence[Node], told: Sequence[tuple[Finding, dict[str, str]]]) -> Iterable[GateCheck]:
    found: dict[str, list[tuple[Finding, str]]] = defaultdict(list)
    for finding, where in told:
        for name, port in where.items() if finding.id in kind.findings else ():
            found[name].append((finding, port))
    for node in nodes:
        yield from _of_node(kind, node, found.get(node.name, ()))


def _of_node(kind: Kind, node: Node, mine: Sequence[tuple[Finding, str]]) -> Iterable[GateCheck]:
    if not mine:
        yield _nothing_found(kind, node)
    for finding, port in mine:
        outcome: Outcome = "differs" if kind.refused_by(finding.severity) else "noted"
        yield GateCheck(
            id=kind.id,
            node=node.name,
            port=port,
            outcome=outcome,
            expected=kind.asks,
            found=found_text(finding, node.name),
            note=finding.id,
            fix=finding.fix,
            who=kind.who,
        )


def _nothing_found(kind: Kind, node: Node) -> GateCheck:
    unread = _unread(kind.id, node)
    outcome, found = ("noted", f"unknown: {unread}") if unread else ("ok", _fine(kind.id, node))
    fields = {"id": kind.id, "node": node.name, "outcome": outcome, "expected": kind.asks, "found": found}
    return GateCheck.model_validate(fields | {"who": kind.who})


def _fine(id: str, node: Node) -> str:
    """Nothing was found; of counters that were not seen before, nothing could be."""
    seen_first = isinstance(node.counters, tuple) and bool(node.counters) and node.watched_s <= 0
    return "no gate of this boot before" if id == "counters" and seen_first else "so it is"


def _unread(id: str, node: Node) -> str:
    """Why nothing can be found for this row, "" where it was looked at: told, and no reason to refuse."""
    facts = {"kernel-log": node.host.kernel_log, "clock": node.clock_offset_s}
    fact = facts.get(id)
    return fact.unknown if isinstance(fact, Unknown) else ""


def deciding(fabric: Fabric) -> list[Finding]:
    """The fabric's findings that are a no for some row, in their order; others are scan's to tell."""
    rows = [kinds()[id] for id in BY_FINDINGS]
    return [
        one for one in fabric.findings if any(one.id in row.findings and row.refused_by(one.severity) for row in rows)
    ]


def found_text(finding: Finding, node: str) -> str:
    """What was seen on that node, in one line; the cause where nothing is told of it."""
    texts = [one.text for one in finding.evidence if one.file == node] or [finding.cause]
    return " ".join(texts[0].split())[:MOST_FOUND]


def netdevs_of(node: Node) -> frozenset[str]:
    """The names of its interfaces."""
    return frozenset() if isinstance(node.netdevs, Unknown) else frozenset(one.name for one in node.netdevs)


def places(finding: Finding, ports: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """The nodes a finding is about, each with its port where subject or evidence names one; `ports` by node.

    Subjects are "node", "node/port", "node: words", "a and b", "a -> b address", "node ip:port".
    """
    found: dict[str, str] = {}
    for word in re.split(r",\s+| and | -> |\s+", finding.subject):
        node, _, port = word.rstrip(":").partition("/")
        if node in ports:
            found.setdefault(node, port)
    for one in finding.evidence if not found else ():
        if one.file in ports:
            word = (one.text.split() or [""])[0].rstrip(":,")
            found.setdefault(one.file, word if word in ports[one.file] else "")
    return found
