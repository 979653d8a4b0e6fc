"""Lines for a Slurm batch script, of what all nodes share: exported there, handed on by `--export=ALL`.

Never in `--export=NAME=VALUE,...`, which sbatch and srun split at commas (src/common/env.c), so that a list of HCAs
breaks. Values that differ per node come from a TaskProlog.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells

READERS = ("sbatch", "srun")


def write(content: Content) -> str:
    """export lines, each under its evidence."""
    lines = head(content, "into the batch script, before srun; keep --export=ALL (the default) for sbatch and srun")
    if content.differing:
        lines += comment(f"{', '.join(content.differing)}: differ per node, see --format slurm-prolog")
    for line in content.common:
        lines += [*comment(evidence(line)), f"export {line.name}={shell(line.value)}"]
    return "\n".join(lines) + "\n"


FORMAT = Format(
    "slurm",
    READERS,
    "common",
    "nccl-batch.sh",
    not_for_shells,
    write,
    left_out=lambda content: content.differing,
    elsewhere="they differ per node: --format slurm-prolog",
)
