"""The fabric document for people: nodes, links with their proof, findings last; and what it means as a status.

`part="links"` leaves the nodes out, for `cables`. Judges nothing beyond counting findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from fabricdoc.errors import ExitStatus
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.report.cells import BAD, BOLD, WARN, Column, Command, Name, Words, indent, line, table
from fabricdoc.report.findings import finding_counts, render_findings
from fabricdoc.report.nodes import render_failed, render_node
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

Part = Literal["all", "links", "plan"]
NOT_ASKED = Unknown(unknown="not asked")
HOW = {"rdma-ping": "RDMA ping", "beacon": "beacons", "multicast": "multicast", "lldp": "LLDP", "ping": "ping alone"}
KINDS = {"cable": "", "segment": "", "one-way": BAD, "loop": WARN}


def render_fabric(fabric: Fabric, part: Part = "all") -> list[RenderableType]:
    """The whole fabric, or (part "links") only its links, failed nodes and findings."""
    parts: list[RenderableType] = [line(*_headline(fabric))]
    if part == "all":
        linked = _linked(fabric)
        parts += [piece for node in fabric.nodes for piece in (line(), *render_node(node, linked[node.name]))]
    parts += [piece for failed in fabric.failed for piece in (line(), *render_failed(failed))]
    parts += [line(), *render_links(fabric)] if part == "links" or _links_were_asked(fabric) else []
    return [*parts, *([line(), *render_findings(fabric.findings)] if fabric.findings else [])]


def fabric_status(fabric: Fabric) -> ExitStatus:
    """4 when a node failed, 1 with an error finding, 3 when links between nodes could not be looked at, else 0."""
    if fabric.failed:
        return ExitStatus.FAILED
    if any(finding.severity == "error" for finding in fabric.findings):
        return ExitStatus.NOT_FIT
    return ExitStatus.INCONCLUSIVE if len(fabric.nodes) > 1 and isinstance(fabric.links, Unknown) else ExitStatus.FIT


def render_links(fabric: Fabric) -> list[RenderableType]:
    """`alpha/p0  <->  beta/p1  cable, proven by beacons 3+3`, one line per link."""
    if fabric.links == NOT_ASKED:
        return [line(("links ", BOLD), "not looked for: cables need at least two nodes, name them with --nodes")]
    if isinstance(fabric.links, Unknown):
        reason, paste = _to_paste(fabric.links.unknown)
        return [line(("links ", BOLD), (f"unknown: {reason}", WARN)), *([indent(Command(paste))] if paste else [])]
    if not fabric.links:
        return [line(("links ", BOLD), ("none: no port heard a port of another node", WARN))]
    columns = [Column("link", flex=True), Column(""), Column("", flex=True), Column("proof", flex=True)]
    return [table(columns, [_link_row(link) for link in fabric.links], by=0)]


def _to_paste(reason: str) -> tuple[str, str]:
    """A reason and the words to paste that end it in backticks, which get a line of their own."""
    match = re.fullmatch(r"(.*\S)\s*`([^`]+)`", reason)
    return (match[1], match[2]) if match else (reason, "")


def _link_row(link: Link) -> list[Words | RenderableType]:
    proof = link.proof
    a, b = f"{link.a.node}/{link.a.netdev}", f"{link.b.node}/{link.b.netdev}"
    arrow = "<->"
    if link.kind == "one-way":
        arrow = "-->" if proof.frames_a_to_b else "<--"
    counts = f" {proof.frames_a_to_b}+{proof.frames_b_to_a}" if proof.frames_a_to_b or proof.frames_b_to_a else ""
    text = f"{link.kind}, proven by {HOW[proof.method]}{counts}{', RDMA fails' if link.rdma is False else ''}"
    return [Name(a), arrow, Name(b), (text, BAD if link.rdma is False else KINDS[link.kind])]


def _headline(fabric: Fabric) -> list[Words]:
    words: list[Words] = [(counted(len(fabric.nodes), "node"), BOLD)]
    if fabric.failed:
        words += [", ", (f"{len(fabric.failed)} could not be read", BAD)]
    if not isinstance(fabric.links, Unknown) and fabric.links:
        words += [f", {counted(len(fabric.links), 'link')} proven"]
    if fabric.failed and not fabric.findings:
        return words
    unproven = _links_were_asked(fabric) and isinstance(fabric.links, Unknown)
    return [*words, ", ", *finding_counts(fabric.findings, unproven=unproven)]


def _links_were_asked(fabric: Fabric) -> bool:
    """Whether the cables were looked at: with one node there are none, and a bare scan says so."""
    return len(fabric.nodes) > 1 and fabric.links != NOT_ASKED


def _linked(fabric: Fabric) -> dict[str, set[str]]:
    """Per node, the netdevs that take part in a link."""
    found: dict[str, set[str]] = defaultdict(set)
    for link in () if isinstance(fabric.links, Unknown) else fabric.links:
        for end in (link.a, link.b):
            found[end.node].add(end.netdev)
    return found
