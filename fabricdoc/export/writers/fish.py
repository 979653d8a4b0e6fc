"""Lines for fish to source: `set -gx NAME 'value'`.

Between single quotes fish knows two escapes, \\\\ and \\' (fish language, Quotes). A name that ends in PATH becomes a
list at each colon, and is joined by colons again for programs (fish language, Path variables).
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_for_shells

READERS = ("fish",)


def quoted(value: str) -> str:
    """The value between single quotes."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def write(content: Content) -> str:
    """set lines, each under its evidence."""
    lines = head(content, "to be sourced by fish")
    for line in content.nodes[0].lines:
        lines += [*comment(evidence(line)), f"set -gx {line.name} {quoted(line.value)}"]
    return "\n".join(lines) + "\n"


FORMAT = Format("fish", READERS, "node", ".fish", not_for_shells, write, with_common=True)
