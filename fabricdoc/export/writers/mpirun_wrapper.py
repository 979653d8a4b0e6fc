"""A wrapper that mpirun starts on every host in front of the program: it sets that host's variables and execs.

`mpirun ... sh ./nccl-wrapper.sh PROGRAM` carries every value, per host, that a shell can hold. A host that is not in
the preset ends the launch instead of running with other settings.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_for_shells
from fabricdoc.export.scripts import begin, by_this_host, exports

READERS = ("sh under mpirun",)


def write(content: Content) -> str:
    """The script."""
    lines = begin(content, "mpirun ... sh ./nccl-wrapper.sh PROGRAM ARGUMENTS, at the same path on every host")
    lines += by_this_host(content, [(node, exports(node) or [":"]) for node in content.nodes])
    return "\n".join([*lines, 'exec "$@"']) + "\n"


FORMAT = Format("mpirun-wrapper", READERS, "all", "nccl-wrapper.sh", not_for_shells, write, runs=True)
