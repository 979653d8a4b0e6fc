"""Which renderer shows which kind of document, and which command is worth running after it.

The one table of kinds; each renderer lives in a module of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from fabricdoc.errors import UsageError
from fabricdoc.model.documents import Document, Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Findings
from fabricdoc.model.naming import node_word
from fabricdoc.report.fabric import Part, render_fabric
from fabricdoc.report.text import to_paste

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fabricdoc.model.run import Run
    from fabricdoc.model.verdict import Verdict

# Each by render_KIND in the module of its name.
RENDERED = ("comparison", "delivery", "gate", "preset", "profile", "run", "verdict")


def render(document: Document, part: Part = "all") -> list[RenderableType]:
    """The document for people; UsageError for a kind nobody renders.

    `part` narrows a fabric to its "links"; with "plan" a run is shown as one that was not started and not stored.
    """
    if part == "plan" and document.kind == "run":
        from fabricdoc.report.run import render_run

        return render_run(cast("Run", document), planned=True)
    if isinstance(document, Fabric):
        return render_fabric(document, part)
    if isinstance(document, Findings):
        from fabricdoc.report.explained import render_explained

        return render_explained(document)
    if document.kind not in RENDERED:
        raise UsageError(f"a {document.kind or 'nameless'} document has no rendering", fix="use --json")
    module = import_module(f"fabricdoc.report.{document.kind}")
    renderer: Callable[[Document], list[RenderableType]] = getattr(module, f"render_{document.kind}")
    return renderer(document)


def next_command(document: Document) -> tuple[str, str] | None:
    """The command that follows naturally, and why; None where findings say what to do, or nothing is left to do."""
    if isinstance(document, Fabric):
        return _after_fabric(document)
    if isinstance(document, Findings):
        return _after_findings(document)
    if document.kind == "run":
        run = cast("Run", document)
        return (f"fabricdoc recommend {shlex.quote(run.id)}", "judge what was measured") if run.launches else None
    if document.kind == "verdict" and cast("Verdict", document).conclusive:
        return ("fabricdoc export-env -o .", "write one env file per node")
    return None


def _after_findings(document: Findings) -> tuple[str, str] | None:
    """Files tell what was; a scan tells what is."""
    if document.verdict == "none":
        return None
    named = ",".join(dict.fromkeys(one.node for one in document.files if one.node and "/" not in one.node))
    nodes = shlex.quote(named) if "," in named else "NODE1,NODE2"
    return (f"fabricdoc scan --nodes {nodes}", "look at the nodes as they are now")


def _after_fabric(fabric: Fabric) -> tuple[str, str] | None:
    if fabric.failed or not fabric.nodes or any(finding.severity == "error" for finding in fabric.findings):
        return None
    nodes = ",".join(node_word(node.name, node.target) for node in fabric.nodes)
    if len(fabric.nodes) == 1:
        return (f"fabricdoc scan --nodes {shlex.quote(nodes)},OTHER_HOST", "prove the cables between two nodes")
    if isinstance(fabric.links, Unknown):
        _, paste = to_paste(fabric.links.unknown)
        command = f"fabricdoc cables --nodes {shlex.quote(nodes)} {paste}"
        return (command, "prove the cables of these ports") if paste.startswith("--ports ") else None
    if not fabric.links:
        return None
    ends = [end for link in fabric.links for end in (link.a, link.b)]
    named = ",".join(dict.fromkeys(end.netdev for end in ends if end.hca is None))  # beacons need these named
    ports = f" --ports {shlex.quote(named)}" if named else ""
    return (f"fabricdoc bench --nodes {shlex.quote(nodes)}{ports}", "measure these links")
