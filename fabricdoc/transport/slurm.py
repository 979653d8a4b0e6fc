"""Nodes of a Slurm allocation: which they are, and the srun argv that runs one program on one of them.

Only inside an allocation (salloc, sbatch, or a shell of a job): nothing here asks for one, and no node outside it is
touched. A step is placed beside the job's own (`--overlap`), bound to no CPU, with no MPI plugin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.nodes import NodeSpec, check_unique
from fabricdoc.transport.nodesets import expand_all
from fabricdoc.transport.peers import MAX_PEERS, Peer

# seconds srun may wait for room in the allocation before it says that the nodes are busy
ROOM_S = 10
_FIX = "run it in one: salloc -N2 fabricdoc scan --slurm; or name the nodes for ssh: --nodes a,b"
# -u: a message longer than srun's line buffer must arrive whole; srun passes its own environment on (--export=ALL)
_FLAGS = (
    *("-N1", "-n1", "--overlap", "--export=ALL", "--mpi=none", "--cpu-bind=none"),
    *("--unbuffered", f"--immediate={ROOM_S}"),
)


def srun_argv(node: NodeSpec, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` once on the node; raises UsageError outside an allocation that holds it."""
    host = node.where.host
    job = allocation()
    if host not in allocated_names():
        raise UsageError(f"{node.name}: {host} is not a node of this allocation (job {job})", fix="see: --slurm")
    return ["srun", f"--jobid={job}", f"--nodelist={host}", *_FLAGS, *argv]


def allocation() -> str:
    """The job id of the allocation this process runs in; raises UsageError where there is none."""
    job = os.environ.get("SLURM_JOB_ID") or os.environ.get("SLURM_JOBID", "")
    if not job:
        raise UsageError("there is no Slurm allocation here: SLURM_JOB_ID is not set", fix=_FIX)
    if not re.fullmatch(r"[1-9][0-9]{0,9}", job, re.ASCII):
        raise UsageError(f"SLURM_JOB_ID is {job[:40]!r}, not a number", fix=_FIX)
    return job


def allocated_names() -> tuple[str, ...]:
    """The nodes' names, from SLURM_JOB_NODELIST, in Slurm's order. Raises UsageError."""
    listed = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST", "")
    if not listed:
        raise UsageError("there is no Slurm allocation here: SLURM_JOB_NODELIST is not set", fix=_FIX)
    return _expanded(listed)


@cache
def _expanded(listed: str) -> tuple[str, ...]:
    """Once for all nodes of a large allocation."""
    return tuple(expand_all([listed]))


def allocated_peers() -> tuple[Peer, ...]:
    """The allocation's nodes as hosts for ssh (a job lets its user in there); none outside one, at most 256."""
    try:
        allocation()
        return tuple(Peer(name, "the Slurm job") for name in allocated_names()[:MAX_PEERS])
    except UsageError:
        return ()


def allocated_nodes(config: Config) -> tuple[NodeSpec, ...]:
    """A node for every one of the allocation, reached by srun; what fabric.toml says of a name is kept for it."""
    allocation()
    known = {node.name: node for node in config.nodes}
    nodes = []
    for name in allocated_names():
        target = f"slurm:{name}"
        nodes.append(replace(known[name], target=target, user="") if name in known else NodeSpec(name, target))
    check_unique(nodes)
    return tuple(nodes)
