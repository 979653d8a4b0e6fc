"""Lines for a shell to source: `export NAME='value'`.

Between single quotes every character stands for itself in POSIX shells (IEEE 1003.1, 2.2.2) and in zsh, which would
expand `=word` without them.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells

READERS = ("bash", "dash", "ksh", "zsh")


def write(content: Content) -> str:
    """export lines, each under its evidence."""
    lines = head(content, f"to be sourced by a shell ({', '.join(READERS)})")
    for line in content.nodes[0].lines:
        lines += [*comment(evidence(line)), f"export {line.name}={shell(line.value)}"]
    return "\n".join(lines) + "\n"


FORMAT = Format("bash", READERS, "node", ".sh", not_for_shells, write, with_common=True)
