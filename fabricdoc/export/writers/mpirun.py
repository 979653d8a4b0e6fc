"""Arguments of Open MPI's mpirun: `-x 'NAME=value'` words of what all nodes share; one value goes to every rank.

All after the first `=` is the value (prrte src/mca/schizo/ompi). `;` is refused: it separates entries in the list that
some editions make of `-x` (mca_base_env_list). Values that differ per node come from the wrapper.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells

READERS = ("Open MPI mpirun",)


def refuse(name: str, value: str) -> str:
    """The separator of mpirun's own list."""
    reason = not_for_shells(name, value)
    return reason or ("holds `;`, at which some editions of mpirun end the value" if ";" in value else "")


def write(content: Content) -> str:
    """One line of words."""
    return " ".join(f"-x {shell(f'{line.name}={line.value}')}" for line in content.common) + "\n"


FORMAT = Format(
    "mpirun",
    READERS,
    "common",
    "nccl-mpirun-args.txt",
    refuse,
    write,
    left_out=lambda content: content.differing,
    elsewhere="they differ per node: --format mpirun-wrapper",
)
