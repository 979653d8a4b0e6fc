"""The default: an env file that means the same to `docker run --env-file` and to `set -a; . FILE`, and to others too.

So it holds only what needs no quotes anywhere: docker keeps quotes as part of the value (docker/cli pkg/kvfile, up to
29.7), shells need them around `;` and blanks. systemd's EnvironmentFile (src/basic/env-file.c), compose's env_file
(compose-go dotenv), podman's and enroot's read such lines alike. zsh does not: it expands the `=word` of a selector.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_plain

READERS = ("docker --env-file", "bash and dash", "compose env_file", "systemd EnvironmentFile")


def refuse(name: str, value: str) -> str:
    """Anything that one of the readers would need quotes for; compose cuts a leading `export` off a name."""
    return "goes to a name that begins with `export`" if name.startswith("export") else not_plain(name, value)


def write(content: Content) -> str:
    """NAME=value lines, each under its evidence."""
    lines = head(content, f"for {', '.join(READERS)} (set -a; . FILE); not for zsh and fish, which have a --format")
    for line in content.nodes[0].lines:
        lines += [*comment(evidence(line)), f"{line.name}={line.value}"]
    return "\n".join(lines) + "\n"


FORMAT = Format("env", READERS, "node", ".env", refuse, write, with_common=True)
