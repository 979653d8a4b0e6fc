"""The writers: a node's preset lines as an env file, a shell file, docker arguments or JSON.

Evidence goes into comment lines above the variable, never behind it. Values are checked by `rules` before
anything is written, so a caller gets all of the text or a UsageError. Nothing is written to disk here.
"""

from __future__ import annotations

import json
import shlex
import unicodedata

from fabricdoc.errors import UsageError
from fabricdoc.export.choose import settings
from fabricdoc.export.rules import Format, check_value, format_named, shell_would_split
from fabricdoc.model.preset import Line, NodePreset, Preset

_SPLIT_NOTE = "a shell would split the next value: don't `source` this file, use --format bash"


def render(preset: Preset, node: NodePreset, fmt: str = "env") -> str:
    """The variables of `node` as text in `fmt` (a key of FORMATS), ending in a line break.

    UsageError when the format is unknown, a name is no variable name or is given twice, or a value would
    not survive the readers of the format (the fix names a format that carries it).
    """
    wanted = format_named(fmt)
    _check_lines(wanted, node)
    writers = {"env": _env, "bash": _bash, "docker": _docker, "json": _json}
    return writers[fmt](preset, node, wanted)


def _check_lines(wanted: Format, node: NodePreset) -> None:
    seen: set[str] = set()
    for line in node.lines:
        check_value(wanted, line.name, line.value)
        if line.name in seen:
            raise UsageError(f"{line.name} is given twice for {node.name}", fix="keep one of them in the preset")
        seen.add(line.name)


def _env(preset: Preset, node: NodePreset, wanted: Format) -> str:
    lines = _head(preset, node, f"for {', '.join(wanted.readers)}; for a shell use --format bash")
    for line in node.lines:
        lines += _comment(_evidence(line))
        lines += _comment(_SPLIT_NOTE) if shell_would_split(line.value) else []
        lines.append(f"{line.name}={line.value}")
    return "\n".join(lines) + "\n"


def _bash(preset: Preset, node: NodePreset, wanted: Format) -> str:
    lines = _head(preset, node, f"to be sourced by a shell ({', '.join(wanted.readers)})")
    for line in node.lines:
        lines += _comment(_evidence(line))
        lines.append(f"export {line.name}={_quoted(line.value)}")
    return "\n".join(lines) + "\n"


def _docker(_preset: Preset, node: NodePreset, _wanted: Format) -> str:
    return " ".join(f"-e {shlex.quote(f'{line.name}={line.value}')}" for line in node.lines) + "\n"


def _json(preset: Preset, node: NodePreset, _wanted: Format) -> str:
    document = {
        "schema": "fabricdoc/env/1",
        "fabricdoc": preset.fabricdoc,
        "created": preset.created,
        "preset": preset.name,
        "node": node.name,
        "variables": {line.name: line.value for line in node.lines},
        "evidence": {line.name: _evidence(line) for line in node.lines},
    }
    return json.dumps(document, indent=2) + "\n"


def _quoted(value: str) -> str:
    """Always in single quotes: zsh expands an unquoted `=word`, which shlex.quote takes for harmless."""
    return "'" + value.replace("'", "'\"'\"'") + "'"


def _evidence(line: Line) -> str:
    return f"{line.kind}: {line.evidence}" if line.evidence else line.kind


def _head(preset: Preset, node: NodePreset, readers: str) -> list[str]:
    same = [other.name for other in preset.nodes if settings(other) == settings(node)]
    others = f" (the same on {', '.join(same)})" if len(same) > 1 else ""
    lines = _comment(f"fabricdoc preset {preset.name}, node {node.name}{others}")
    lines += _comment(f"exercised: {preset.exercised}") if preset.exercised else []
    lines += _comment(readers)
    return lines if node.lines else lines + _comment("nothing to set: this node needs no variable")


def _comment(text: str) -> list[str]:
    """`# ` lines that no reader can take for more than a comment.

    Line breaks of any alphabet start a new comment line; other control characters become blanks; a final
    backslash goes, since systemd before 254 takes the line after it as part of the comment.
    """
    parts = text.replace("\r", "\n").splitlines() or [""]
    return [f"# {_plain(part).strip().rstrip(chr(92)).rstrip()}".rstrip() for part in parts]


def _plain(text: str) -> str:
    return "".join(" " if unicodedata.category(letter) in {"Cc", "Cf", "Cs"} else letter for letter in text)
