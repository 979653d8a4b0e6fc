"""How each kind of target turns into a command on this machine: an argv and an environment, nothing run yet.

`local` runs as it is, `netns` through `enter`, everything else through the user's ssh. A node that is this machine is
reached without ssh.
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
from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec
from fabricdoc.transport.ssh import ssh_argv

ENTER = str(Path(__file__).with_name("enter.py"))


@dataclass(frozen=True)
class Command:
    """What to start on this machine for a node: `kind` is how it is reached (local, netns, ssh)."""

    kind: str
    argv: tuple[str, ...]
    env: dict[str, str]


def reached_by(node: NodeSpec) -> str:
    """`local`, `netns` or `ssh`; a host that is this machine's own name, as this user, without a port, is local."""
    where = node.where
    if where.kind != "ssh":
        return where.kind
    here = where.host == socket.gethostname() and where.port == 0
    return "local" if here and where.user in ("", _user()) else "ssh"


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def python_of(node: NodeSpec) -> str:
    """The interpreter to name on the node: where this machine runs it and none was named, our own (it has torch)."""
    ours = node.python == DEFAULT_PYTHON and reached_by(node) != "ssh"
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
    argv = tuple(program(python_of(node)))
    kind = reached_by(node)
    if kind == "ssh":
        return Command(kind, tuple(ssh_argv(node, argv)), dict(os.environ))
    if kind == "netns":
        where = node.where
        argv = (sys.executable, "-I", ENTER, str(where.pid or where.path), "--", *argv)
    return Command(kind, argv, {**os.environ, **node.env})
