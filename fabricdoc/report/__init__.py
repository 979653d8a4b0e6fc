"""Everything people and programs read: the screen, and one renderer per kind of document.

`Screen` is what commands talk to; `render_KIND(document)` gives rich renderables that fit 80 columns;
`fabric_status` and `verdict_status` give a document's exit status. Nothing here measures or judges. rich is
imported when something is rendered, not before; names load their module when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.report.fabric import fabric_status, render_fabric
    from fabricdoc.report.findings import render_findings
    from fabricdoc.report.gate import render_gate
    from fabricdoc.report.gate_lines import status_line, textfile
    from fabricdoc.report.graphs import graph_text
    from fabricdoc.report.kinds import next_command, render
    from fabricdoc.report.links import render_links
    from fabricdoc.report.lists import render_labs, render_runs, render_written
    from fabricdoc.report.plan import render_plan
    from fabricdoc.report.preset import render_preset
    from fabricdoc.report.profile import render_profile
    from fabricdoc.report.run import render_run
    from fabricdoc.report.screen import Screen
    from fabricdoc.report.sizes import telling
    from fabricdoc.report.text import clean
    from fabricdoc.report.verdict import render_verdict, verdict_status

HOMES = {
    "fabric": ("fabric_status", "render_fabric"),
    "findings": ("render_findings",),
    "gate": ("render_gate",),
    "gate_lines": ("status_line", "textfile"),
    "graphs": ("graph_text",),
    "kinds": ("next_command", "render"),
    "links": ("render_links",),
    "lists": ("render_labs", "render_runs", "render_written"),
    "plan": ("render_plan",),
    "preset": ("render_preset",),
    "profile": ("render_profile",),
    "run": ("render_run",),
    "screen": ("Screen",),
    "sizes": ("telling",),
    "text": ("clean",),
    "verdict": ("render_verdict", "verdict_status"),
}

__all__ = [
    "Screen",
    "clean",
    "fabric_status",
    "graph_text",
    "next_command",
    "render",
    "render_fabric",
    "render_findings",
    "render_gate",
    "render_labs",
    "render_links",
    "render_plan",
    "render_preset",
    "render_profile",
    "render_run",
    "render_runs",
    "render_verdict",
    "render_written",
    "status_line",
    "telling",
    "textfile",
    "verdict_status",
]


__getattr__ = opened(__name__, HOMES)
