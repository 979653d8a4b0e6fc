"""From a preset to a text in one format: whole and checked, or a UsageError; nothing is written to disk here."""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format, check_value, format_named
from fabricdoc.model.preset import Line, NodePreset, Preset

LEFT = ("env", "docker-env", "bash")
"""The formats that `env_file` tries, plainest first."""


def render(preset: Preset, node: NodePreset | None, fmt: str = "env") -> str:
    """The variables as text in `fmt` (one of FORMATS), ending in a line break.

    `node` may be None where the format holds all nodes' values, or those they share. UsageError when the format is
    unknown, a name is no variable name or is given twice, or a value would not survive the readers of the format (the
    fix names the formats that carry it).
    """
    wanted = format_named(fmt)
    return wanted.write(checked(preset, node, wanted))


def left_out(preset: Preset, node: NodePreset | None, fmt: str) -> str:
    """One line about what the text does not hold and where that goes, or ""."""
    wanted = format_named(fmt)
    names = wanted.left_out(_content(preset, node, wanted))
    return f"{fmt} holds no {', '.join(names)}: {wanted.elsewhere}" if names else ""


def env_file(preset: Preset, node: NodePreset) -> tuple[str, str]:
    """Name and text of the plainest file that carries all values of the node. UsageError where none can."""
    for fmt in LEFT[:-1]:
        try:
            return f"{node.name}{format_named(fmt).file}", render(preset, node, fmt)
        except UsageError:
            continue
    return f"{node.name}{format_named(LEFT[-1]).file}", render(preset, node, LEFT[-1])


def checked(preset: Preset, node: NodePreset | None, wanted: Format) -> Content:
    """What the format's writer gets; UsageError where a line can't be carried."""
    content = _content(preset, node, wanted)
    for one in content.nodes:
        _check_names(one)
    dropped = set(wanted.left_out(content))
    lines: tuple[Line, ...] = content.common if wanted.scope == "common" else ()
    if wanted.scope != "common":
        lines = tuple(line for one in content.nodes for line in one.lines)
    for line in lines:
        if line.name not in dropped:
            check_value(wanted, line.name, line.value)
    return content


def _content(preset: Preset, node: NodePreset | None, wanted: Format) -> Content:
    if node is None and wanted.scope == "node":
        raise UsageError(f"--format {wanted.name} is one node's", fix="name it with --node", id="node-needed")
    if not preset.nodes:
        raise UsageError(f"preset {preset.name} has no node", fix="fabricdoc bench", id="preset-without-nodes")
    return Content(preset, preset.nodes if node is None else (node,))


def _check_names(node: NodePreset) -> None:
    seen: set[str] = set()
    for line in node.lines:
        if line.name in seen:
            raise UsageError(f"{line.name} is given twice for {node.name}", fix="keep one of them in the preset")
        seen.add(line.name)
