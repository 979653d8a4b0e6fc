"""A TaskProlog: a script whose output `export NAME=value` sets variables of each task on its node.

slurmd src/slurmd/slurmstepd/task.c (_proc_stdout, 17 to 25): the value is all between the first `=` and the line's end;
earlier editions read 4 KiB of it, so no node gets more. Nodes are told apart by SLURMD_NODENAME.
"""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.comments import comment, evidence
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells
from fabricdoc.export.scripts import begin, by_host
from fabricdoc.model.preset import NodePreset

READERS = ("Slurm TaskProlog",)
MOST = 4000


def write(content: Content) -> str:
    """The script: all lines of the node it runs on; a node that is not in the preset is told, and gets none."""
    lines = begin(content, "for Slurm: TaskProlog= in slurm.conf, or srun --task-prolog")
    lines += ['case "${SLURMD_NODENAME:-}" in']
    lines += by_host(content, [(node, _prints(node)) for node in content.nodes], short=False)
    lines += [
        "*)",
        "  printf 'print fabricdoc: no NCCL settings for node %s\\n' \"${SLURMD_NODENAME:-}\"",
        "  ;;",
        "esac",
    ]
    return "\n".join(lines) + "\n"


def _prints(node: NodePreset) -> list[str]:
    size = sum(len(f"export {line.name}={line.value}\n") for line in node.lines)
    if size > MOST:
        raise UsageError(
            f"the lines of {node.name} are {size} bytes, and Slurm reads {MOST} of a TaskProlog",
            fix="take long values out of the preset, or set them by --format slurm",
            id="too-long",
        )
    lines = []
    for line in node.lines:
        lines += [*comment(evidence(line)), f"printf '%s\\n' {shell(f'export {line.name}={line.value}')}"]
    return lines or [":"]


FORMAT = Format("slurm-prolog", READERS, "all", "nccl-taskprolog.sh", not_for_shells, write, runs=True)
