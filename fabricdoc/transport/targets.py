"""How each kind of target turns into a command on this machine: an argv and an environment, nothing run yet.

`local` runs as it is, `netns` through `enter`, a host through the user's ssh, the rest through the client of what holds
it: srun, kubectl, docker, podman. A node that is this machine is reached without ssh.
"""

from __future__ import annotations

import os
import pwd
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import UsageError
from fabricdoc.transport.containers import exec_argv
from fabricdoc.transport.kubernetes import kubectl_argv
from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec
from fabricdoc.transport.ssh import ssh_argv

ENTER = str(Path(__file__).with_name("enter.py"))


@dataclass(frozen=True)
class Command:
    """What to start on this machine for a node: `kind` is how it is reached, `over_ssh` whether by an ssh client."""

    kind: str
    argv: tuple[str, ...]
    env: dict[str, str]
    over_ssh: bool = False


def reached_by(node: NodeSpec) -> str:
    """The target's kind; a host that is this machine's own name, as this user, without a port, is `local`."""
    kind = node.where.kind
    return "local" if kind == "ssh" and not is_over_ssh(node) else kind


def is_over_ssh(node: NodeSpec) -> bool:
    """Whether the node's machine is another one, reached by ssh."""
    where = node.where
    if where.kind == "slurm" or not where.host:
        return False
    here = where.host == socket.gethostname() and where.port == 0
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


def command_for(node: NodeSpec, program: Callable[[str], Sequence[str]], *, module: str = "") -> Command:
    """The command that runs `program(python)` (an argv for the node's python) on `node`.

    Raises UsageError when the agent is asked for inside an image or a container: this version can't place it there,
    and measuring with another torch than the server's would mislead.
    """
    if module == "agent" and (node.image or node.container):
        raise UsageError(
            f"node {node.name}: the bench agent in an image or a container is not supported yet by this version",
            fix="name a python that has torch with `python = ` instead of image or container",
        )
    kind, over_ssh = reached_by(node), is_over_ssh(node)
    argv = tuple(_PLACES[kind](node, tuple(program(python_of(node)))))
    if over_ssh:
        return Command(kind, tuple(ssh_argv(node, argv)), dict(os.environ), over_ssh=True)
    return Command(kind, argv, {**os.environ, **node.env})


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
