"""Arguments of Open MPI's mpirun: `-x 'NAME=value'` words of what all nodes share; one value goes to every rank.

All after the first `=` is the value (open-mpi/ompi orte/mca/schizo/ompi parse_env of 4, prrte src/mca/schizo/ompi of 5;
5.0.11 was run). Values that differ per node come from the wrapper.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells

READERS = ("Open MPI mpirun",)


def write(content: Content) -> str:
    """One line of words."""
    return " ".join(f"-x {shell(f'{line.name}={line.value}')}" for line in content.common) + "\n"


FORMAT = Format(
    "mpirun",
    READERS,
    "common",
    "nccl-mpirun-args.txt",
    not_for_shells,
    write,
    left_out=lambda content: content.differing,
    elsewhere="they differ per node: --format mpirun-wrapper",
)
