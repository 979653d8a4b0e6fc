"""A node reached through mpirun: the argv that starts one program there, and how fast its stdin may be filled.

One `mpirun -n 1` a node, since mpirun hands its stdin to rank 0 alone and merges what all ranks print. The words are
those that Open MPI (4.1, 5.0) and Hydra (MPICH 4 and 5, Intel MPI 2021) share. Which launcher mpirun uses, and whom
that lets in, is the site's matter; no MPI is initialised, and nothing here asks for an allocation.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.transport.nodes import NodeSpec

# our working folder need not be there; Open MPI binds a lone rank to one core. Intel's ignores --bind-to and says so
_FLAGS = ("--wdir", "/", "--bind-to", "none")

# bytes sent ahead of what `tap` has told: Open MPI 5.0.11 delivers 4,096 and loses more, Hydra has a pipe of 65,536
WINDOW = 4096


def mpirun_argv(node: NodeSpec, argv: Sequence[str]) -> list[str]:
    """The argv that runs `argv` (with `node.env`) once on the node, bound to no core."""
    env = ["env", *(f"{key}={value}" for key, value in sorted(node.env.items()))] if node.env else []
    return ["mpirun", "-n", "1", "--host", node.where.host, *_FLAGS, *env, *argv]


def last_words(nonce: str) -> bytes:
    """What ends the stdin of a program behind `tap`; no message and no zip holds it."""
    return f"\x1e{nonce} end\n".encode()
