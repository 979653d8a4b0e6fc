"""An env file for container runtimes alone: the value is all that follows the first `=`, as it is.

docker/cli pkg/kvfile (29.7): UTF-8, lines to 64 KiB, blanks in front of a line go, `#` counts there only, no quotes, no
`$`, no escapes; podman pkg/env (5.8): the same. Quotes around a value are refused, since other editions of both
have taken them off, and blanks at its ends, since editors do.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_one_line

READERS = ("docker --env-file", "podman --env-file")
QUOTES = "'\"`"


def refuse(name: str, value: str) -> str:
    """Control characters, and what stands at the ends of a value."""
    reason = not_one_line(name, value)
    if reason or not value:
        return reason
    if value != value.strip():
        return "begins or ends with a blank, which is easily lost"
    return "begins or ends with a quote, which some editions cut off" if {value[0], value[-1]} & set(QUOTES) else ""


def write(content: Content) -> str:
    """NAME=value lines, each under its evidence."""
    lines = head(content, f"for {', '.join(READERS)} only: a shell may read some values otherwise")
    for line in content.nodes[0].lines:
        lines += [*comment(evidence(line)), f"{line.name}={line.value}"]
    return "\n".join(lines) + "\n"


FORMAT = Format("docker-env", READERS, "node", ".docker-env", refuse, write, with_common=True)
