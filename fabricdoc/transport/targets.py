"""How each kind of target turns into a command on this machine: an argv and an environment, nothing run yet.

`local` runs as it is, `netns` through `enter`, a host through the user's ssh, the rest through the client of what holds
it: srun, mpirun, kubectl, docker, podman. A node that is this machine is reached without ssh.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabricdoc.transport.containers import exec_argv
from fabricdoc.transport.grammar import LAUNCHED
from fabricdoc.transport.kubernetes import kubectl_argv
from fabricdoc.transport.loader import box_argv, raised_argv, tap_argv
from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec
from fabricdoc.transport.ssh import ssh_argv

ENTER = str(Path(__file__).with_name("enter.py"))
BOXED_MODULES = ("agent", "rdma_ping")
"""Probes that run where the server does, for what they load is there: torch, or libibverbs."""


@dataclass(frozen=True)
class Command:
    """What to start on this machine for a node: `kind` is how it is reached, `over_ssh` whether by an ssh client.

    `window` (bytes; 0: no limit) is how far its input may run ahead of what `tap` has told, and `last` what to write
    before its stdin is closed: for a client whose stdin is no pipe.
    The kind `box` is an agent in a container of the node, however the node itself is reached.
    """

    kind: str
    argv: tuple[str, ...]
    env: dict[str, str]
    over_ssh: bool = False
    window: int = 0
    last: bytes = b""


def reached_by(node: NodeSpec) -> str:
    """The target's kind; a host that is this machine's own name, as this user, without a port, is `local`."""
    kind = node.where.kind
    return "local" if kind == "ssh" and not is_over_ssh(node) else kind


def is_over_ssh(node: NodeSpec) -> bool:
    """Whether the node's machine is another one, reached by ssh."""
    where = node.where
    if where.kind in LAUNCHED or not where.host:
        return False
    here = where.host == os.uname().nodename and where.port == 0
    return not (here and where.user in ("", _user()))


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def python_of(node: NodeSpec) -> str:
    """The interpreter to name on the node: where this machine runs it and none was named, our own (it has torch)."""
    ours = node.python == DEFAULT_PYTHON and reached_by(node) in ("local", "netns")
    return sys.executable if ours else node.python


def command_for(
    node: NodeSpec, program: Callable[[str], Sequence[str]], *, module: str = "", label: str = ""
) -> Command:
    """The command that runs `program(python)` (an argv for a python) on `node`.

    BOXED_MODULES run where the server does: in the node's container, else in a new one of its image, named by `label`;
    every other module runs on the node itself. Only the agent's container is given the GPUs.
    """
    if not is_boxed(node, module):
        return _placed(node, program(python_of(node)), label)
    new = "of" if module == "agent" else "plain"
    verb, place = ("in", node.container) if node.container else (new, node.image)
    words = (verb, place, label, ",".join(sorted(node.env)), *program(DEFAULT_PYTHON)[1:])
    return replace(_placed(node, box_argv(python_of(node), words), label), kind="box")


def ender_for(node: NodeSpec, program: Callable[[str], Sequence[str]], *, module: str, label: str) -> Command:
    """The command that ends what `command_for` with the same words started: `program` there, or the whole container."""
    if is_boxed(node, module) and not node.container:
        return _placed(node, box_argv(python_of(node), ("end", node.image, label, "")))
    return command_for(node, program, module=module, label=label)


def raised_as(node: NodeSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command of the node that becomes a python with the right to open raw sockets (`raised` says how).

    And the one that ends what became of it: the arguments of a python that ends the process are to follow.
    """
    words = (node.image, node.container, os.urandom(8).hex())
    start, end = (raised_argv(python_of(node), (verb, *words)) for verb in ("run", "end"))
    return tuple(start), tuple(end)


def is_boxed(node: NodeSpec, module: str) -> bool:
    """Whether this probe runs in a container of the node."""
    return module in BOXED_MODULES and bool(node.image or node.container)


def _placed(node: NodeSpec, argv: Sequence[str], label: str = "") -> Command:
    """The command for `argv` on the node's own machine; with a `label` it is a program that reads its stdin."""
    kind, over_ssh = reached_by(node), is_over_ssh(node)
    if kind == "mpirun":
        return _by_mpirun(node, argv, label)
    words = tuple(_PLACES[kind](node, tuple(argv)))
    if over_ssh:
        return Command(kind, tuple(ssh_argv(node, words)), dict(os.environ), over_ssh=True)
    return Command(kind, words, {**os.environ, **node.env})


def _by_mpirun(node: NodeSpec, argv: Sequence[str], label: str) -> Command:
    from fabricdoc.transport.mpirun import WINDOW, last_words, mpirun_argv

    if not label:
        return Command("mpirun", tuple(mpirun_argv(node, argv)), dict(os.environ))
    words = mpirun_argv(node, tap_argv(python_of(node), label, argv))
    return Command("mpirun", tuple(words), dict(os.environ), window=WINDOW, last=last_words(label))


def _as_it_is(_node: NodeSpec, argv: Sequence[str]) -> Sequence[str]:
    return argv


def _in_namespace(node: NodeSpec, argv: Sequence[str]) -> Sequence[str]:
    return (sys.executable, "-I", ENTER, str(node.where.pid or node.where.path), "--", *argv)


def _by_srun(node: NodeSpec, argv: Sequence[str]) -> Sequence[str]:
    from fabricdoc.transport.slurm import srun_argv

    return srun_argv(node, argv)


_PLACES: dict[str, Callable[[NodeSpec, Sequence[str]], Sequence[str]]] = {
    "local": _as_it_is,
    "ssh": _as_it_is,
    "netns": _in_namespace,
    "slurm": _by_srun,
    "k8s": kubectl_argv,
    "docker": exec_argv,
    "podman": exec_argv,
}
