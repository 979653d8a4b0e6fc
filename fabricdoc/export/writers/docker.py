"""Arguments of `docker run` and `podman run`: `-e 'NAME=value'` words on one line, quoted for any shell.

The runtime takes the word as it is: all after the first `=` is the value (docker/cli opts/env.go).
There are no comments.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_one_line

READERS = ("docker run", "podman run")


def write(content: Content) -> str:
    """One line of words."""
    return " ".join(f"-e {shell(f'{line.name}={line.value}')}" for line in content.nodes[0].lines) + "\n"


FORMAT = Format("docker", READERS, "node", ".docker", not_one_line, write, with_common=True)
