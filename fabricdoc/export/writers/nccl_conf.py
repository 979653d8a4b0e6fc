"""NCCL's own settings file: /etc/nccl.conf, ~/.nccl.conf, or what NCCL_CONF_FILE names.

NCCL src/misc/param.cc, 2.18 to 2.32: the name is all before the first `=`, the value all after it, nothing is trimmed,
there are no quotes; a line of more than 1023 bytes is cut; a comment is a `#` in the first column. The file is read
when NCCL starts, too late for gloo, UCX and torch, so only NCCL_ variables are written. The environment beats it.
"""

from __future__ import annotations

from textwrap import wrap

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_one_line
from fabricdoc.model.preset import Line

READERS = ("NCCL",)
LONGEST_LINE = 1023
WIDTH = 120


def refuse(name: str, value: str) -> str:
    """Lines NCCL would cut, and variables it reads before it reads the file."""
    if not name.startswith("NCCL_") or name == "NCCL_CONF_FILE":
        return "is for what does not read this file"
    if len(name) + 1 + len(value) > LONGEST_LINE:
        return f"makes a line of more than {LONGEST_LINE} bytes, which NCCL cuts"
    return not_one_line(name, value)


def foreign(content: Content) -> tuple[str, ...]:
    """The variables that something else than NCCL reads."""
    return tuple(dict.fromkeys(line.name for node in content.nodes for line in node.lines if not _is_nccls(line)))


def _is_nccls(line: Line) -> bool:
    return line.name.startswith("NCCL_")


def write(content: Content) -> str:
    """NAME=value lines, each under its evidence; comments are short, since 2.26.1 and before read them as lines."""
    lines = head(content, "for NCCL as /etc/nccl.conf; a variable of the environment beats the line here")
    if others := foreign(content):
        lines += comment(f"not here, since NCCL does not read them: {', '.join(others)}; set them in the environment")
    for line in filter(_is_nccls, content.nodes[0].lines):
        lines += [*comment(evidence(line)), f"{line.name}={line.value}"]
    return "\n".join(part for line in lines for part in _short(line)) + "\n"


def _short(line: str) -> list[str]:
    """A comment of any length as several; `=` becomes `:` there, so that an old NCCL sets no variable from it."""
    if not line.startswith("#"):
        return [line]
    text = line[1:].replace("=", ":")
    return [f"#{' ' if part else ''}{part}" for part in wrap(text, WIDTH, break_on_hyphens=False) or [""]]


FORMAT = Format(
    "nccl-conf",
    READERS,
    "node",
    ".nccl.conf",
    refuse,
    write,
    with_common=True,
    left_out=foreign,
    elsewhere="NCCL alone reads that file; set them in the environment",
)
