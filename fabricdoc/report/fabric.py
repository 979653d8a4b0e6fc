"""The fabric document for people: nodes, links with their proof, findings last; and what it means as a status.

`part="links"` leaves the nodes out, for `cables`. Judges nothing beyond counting findings.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from fabricdoc.errors import ExitStatus
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.report.cells import BAD, BOLD, Words, line
from fabricdoc.report.findings import finding_counts, render_findings
from fabricdoc.report.links import render_links
from fabricdoc.report.lldp import render_lldp
from fabricdoc.report.nodes import render_failed, render_node
from fabricdoc.report.selectors import render_selectors
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

Part = Literal["all", "links", "plan"]


def render_fabric(fabric: Fabric, part: Part = "all") -> list[RenderableType]:
    """The whole fabric, or (part "links") only its links, failed nodes and findings, and what each node sets.

    Where it was asked what a value takes, that stands in the place of what each node sets.
    """
    parts: list[RenderableType] = [line(*_headline(fabric))]
    if part == "all":
        linked = _linked(fabric)
        parts += [piece for node in fabric.nodes for piece in (line(), *render_node(node, linked[node.name]))]
    read = {node.name for node in fabric.nodes}
    parts += [
        piece for failed in fabric.failed for piece in (line(), *render_failed(failed, was_read=failed.name in read))
    ]
    parts += [line(), *render_links(fabric)] if part == "links" or len(fabric.nodes) > 1 else []
    parts += [line(), *neighbours] if (neighbours := render_lldp(fabric)) else []
    parts += [line(), *render_findings(fabric.findings)] if fabric.findings else []
    if fabric.matches:
        from fabricdoc.report.matches import render_matches

        return [*parts, *render_matches(fabric.matches)]
    return [*parts, *(render_selectors(fabric.selectors) if part == "links" and fabric.selectors else [])]


def fabric_status(fabric: Fabric) -> ExitStatus:
    """4 when a node failed, 1 with an error finding, 3 when links between nodes could not be looked at, else 0."""
    if fabric.failed:
        return ExitStatus.FAILED
    if any(finding.severity == "error" for finding in fabric.findings):
        return ExitStatus.NOT_FIT
    return ExitStatus.INCONCLUSIVE if len(fabric.nodes) > 1 and isinstance(fabric.links, Unknown) else ExitStatus.FIT


def _headline(fabric: Fabric) -> list[Words]:
    words: list[Words] = [(counted(len(fabric.nodes), "node"), BOLD)]
    late = sum(failed.name in {node.name for node in fabric.nodes} for failed in fabric.failed)
    if len(fabric.failed) > late:
        words += [", ", (f"{len(fabric.failed) - late} could not be read", BAD)]
    if late:
        words += [", ", (f"{late} failed while cables were proven", BAD)]
    if not isinstance(fabric.links, Unknown) and fabric.links:
        words += [f", {counted(len(fabric.links), 'link')} proven"]
    if fabric.failed and not fabric.findings:
        return words
    unproven = len(fabric.nodes) > 1 and isinstance(fabric.links, Unknown)
    return [*words, ", ", *finding_counts(fabric.findings, unproven=unproven)]


def _linked(fabric: Fabric) -> dict[str, set[str]]:
    """Per node, the netdevs that take part in a link."""
    found: dict[str, set[str]] = defaultdict(set)
    for link in () if isinstance(fabric.links, Unknown) else fabric.links:
        for end in (link.a, link.b):
            found[end.node].add(end.netdev)
    return found
