"""A preset for people: the variables of each node with why they are there, and what was and wasn't tried.

Values shown here are for reading; what a program reads comes from `fabricdoc.export`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.report.cells import BOLD, DIM, GOOD, WARN, indent, labelled, line
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

KINDS = {"placed": "", "measured": GOOD, "diagnostic": DIM}


def render_preset(preset: Preset) -> list[RenderableType]:
    """The whole preset; nodes with equal lines are shown once."""
    head = labelled("preset", (preset.name, BOLD), f"  {preset.choice} for {preset.profile}, {preset.objective}")
    parts = [head, *([labelled("why", preset.reason)] if preset.reason else [])]
    parts += [piece for names, node in _grouped(preset.nodes) for piece in (line(), *_node(names, node))]
    ports = sum(len(node.ports) for node in preset.fingerprint.nodes)
    holds = f"{counted(len(preset.fingerprint.nodes), 'node')} and {counted(ports, 'port')} as they were measured"
    return [*parts, line(), *_exercised(preset), labelled("holds for", f"{holds} (run {preset.run})")]


def _grouped(nodes: Sequence[NodePreset]) -> list[tuple[str, NodePreset]]:
    """Nodes with the same variables, values and evidence under one heading of their names."""
    groups: dict[tuple[Line, ...], list[NodePreset]] = {}
    for node in nodes:
        groups.setdefault(node.lines, []).append(node)
    return [(", ".join(node.name for node in members), members[0]) for members in groups.values()]


def _node(names: str, node: NodePreset) -> list[RenderableType]:
    lines = [piece for one in node.lines for piece in _variable(one)]
    return [line((names, BOLD)), *(lines or [indent(line("nothing to set"))])]


def _variable(one: Line) -> list[RenderableType]:
    evidence = f"{one.kind}: {one.evidence}" if one.evidence else one.kind
    return [indent(line((f"{one.name}={one.value}", KINDS[one.kind]))), indent(line((evidence, DIM)), 4)]


def _exercised(preset: Preset) -> list[RenderableType]:
    tried = [labelled("tried on", preset.exercised)] if preset.exercised else []
    return [*tried, *(labelled("not tried", (text, WARN)) for text in preset.not_exercised)]
