"""A file for systemd's EnvironmentFile=.

src/basic/env-file.c (252 to 258): NAME=value, blanks around it go, a backslash joins or escapes, `#` and `;` begin
comments; between double quotes a backslash escapes only `"`, a backslash, `$` and a backtick, and nothing is expanded.
Unlike in a unit's Environment=, `%` means nothing.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import PLAIN, not_one_line

READERS = ("systemd EnvironmentFile",)
ESCAPED = '"\\$`'


def quoted(value: str) -> str:
    """The value as it is where it is plain, else between double quotes."""
    if PLAIN.match(value):
        return value
    return '"' + "".join(f"\\{letter}" if letter in ESCAPED else letter for letter in value) + '"'


def write(content: Content) -> str:
    """NAME=value lines, each under its evidence."""
    lines = head(content, "for systemd: EnvironmentFile=/etc/fabricdoc/NODE.systemd-env in [Service]")
    for line in content.nodes[0].lines:
        lines += [*comment(evidence(line)), f"{line.name}={quoted(line.value)}"]
    return "\n".join(lines) + "\n"


FORMAT = Format("systemd", READERS, "node", ".systemd-env", not_one_line, write, with_common=True)
