"""Comment lines of written files: the evidence of a line, what a file is for; more than a comment to no reader."""

from __future__ import annotations

import unicodedata

from fabricdoc.export.content import Content, settings
from fabricdoc.model.preset import Line


def evidence(line: Line) -> str:
    """Why the line is there, in one text."""
    return f"{line.kind}: {line.evidence}" if line.evidence else line.kind


def head(content: Content, readers: str) -> list[str]:
    """What stands at the top of a file: the preset, whose values, on what it was exercised, for whom it is."""
    preset = content.preset
    whose = ", ".join(node.name for node in content.nodes)
    several = "nodes" if len(content.nodes) > 1 else "node"
    lines = comment(f"fabricdoc preset {preset.name}, {several} {whose}{_shared(content)}")
    lines += comment(f"exercised: {preset.exercised}") if preset.exercised else []
    lines += comment(readers)
    return lines if any(node.lines for node in content.nodes) else lines + comment("nothing to set: no variable")


def _shared(content: Content) -> str:
    if len(content.nodes) != 1:
        return ""
    mine = settings(content.nodes[0])
    same = [other.name for other in content.preset.nodes if settings(other) == mine]
    return f" (the same on {', '.join(same)})" if len(same) > 1 else ""


def comment(text: str) -> list[str]:
    """`# ` lines that no reader can take for more than a comment.

    Line breaks of any alphabet start a new comment line; other control characters become blanks; a final
    backslash goes, since systemd before 254 takes the line after it as part of the comment.
    """
    parts = text.replace("\r", "\n").splitlines() or [""]
    return [f"# {_plain(part).strip().rstrip(chr(92)).rstrip()}".rstrip() for part in parts]


def _plain(text: str) -> str:
    return "".join(" " if unicodedata.category(letter) in {"Cc", "Cf", "Cs"} else letter for letter in text)
