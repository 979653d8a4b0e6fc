"""The pause process of a node: it makes the node's namespaces and then only exists.

Forked by the holder, dies with it. It sets up what belongs to the node alone (host name, a fresh sysfs);
links and addresses come from `wiring`. It runs nothing and answers nobody.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from dataclasses import dataclass
from typing import Any

from fabricdoc.errors import ToolError
from fabricdoc.lab import kernel

NODE_NAMESPACES = kernel.CLONE_NEWNET | kernel.CLONE_NEWNS | kernel.CLONE_NEWUTS
FORBIDDEN = "namespaces may not be made here"
USED_UP = "no more namespaces may be made here (a limit under /proc/sys/user is 0 or reached)"
NOT_BUILT = "this kernel makes no such namespaces"
REFUSED = {
    errno.EPERM: FORBIDDEN,
    errno.EACCES: FORBIDDEN,
    errno.ENOSPC: USED_UP,
    errno.EUSERS: USED_UP,
    errno.EINVAL: NOT_BUILT,
    errno.ENOSYS: NOT_BUILT,
}
"""What namespace calls answer where they are forbidden, used up or not built in, and what that means."""


@dataclass(frozen=True)
class Pause:
    """A pause process: its pid, and the pipe on which it says that its namespaces are there."""

    name: str
    pid: int
    ready: int


def refusal(error: OSError, doing: str) -> ToolError:
    """The ToolError for a namespace or mount call that failed (its fix is added where the caller's words are known).

    The cause comes before the kernel's words, which say "No space left on device" for a limit of 0.
    """
    cause = REFUSED.get(error.errno or 0)
    if cause is None:
        return ToolError(f"the lab can't be made: {doing}: {error.strerror}", id="lab-failed")
    return ToolError(f"the lab can't be made: {cause}; {doing}: {error.strerror}", id="no-namespaces")


def spawn_pause(name: str) -> Pause:
    """Fork the pause process of the node `name`; `await_pause` says when it is ready."""
    parent = os.getpid()
    ready, said = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ready)
            _become_node(name, parent, said)
        finally:
            os._exit(1)
    os.close(said)
    return Pause(name, pid, ready)


def await_pause(pause: Pause) -> tuple[str, ...]:
    """The notes of a node whose namespaces are there now; ToolError if they could not be made.

    Waits without a limit of its own: the holder's alarm bounds it.
    """
    with os.fdopen(pause.ready, "rb") as stream:
        text = stream.read()
    answer: dict[str, Any] = json.loads(text) if text else {"errno": errno.ECHILD, "doing": "the process ended"}
    if "errno" in answer:
        error = OSError(answer["errno"], os.strerror(answer["errno"]))
        raise refusal(error, f"namespaces of node {pause.name}: {answer['doing']}")
    return tuple(answer["notes"])


def _become_node(name: str, parent: int, said: int) -> None:
    """The life of a pause process; never returns."""
    kernel.die_with_parent(parent)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        kernel.unshare(NODE_NAMESPACES)
        answer: dict[str, Any] = {"notes": _furnish(name)}
    except OSError as error:
        answer = {"errno": error.errno, "doing": str(error.strerror)}
    os.write(said, json.dumps(answer).encode())
    _let_go_of_descriptors()
    while "notes" in answer:
        signal.pause()


def _furnish(name: str) -> list[str]:
    """Host name, process name, private mounts and sysfs of a node; the notes on what was refused."""
    socket.sethostname(name)
    kernel.set_process_name(f"node-{name}")
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    try:
        kernel.mount("sysfs", "/sys", "sysfs", _sysfs_flags())
    except OSError as error:
        return [f"/sys shows this machine's own devices: a fresh sysfs was refused ({os.strerror(error.errno or 0)})"]
    return []


def _sysfs_flags() -> int:
    """Flags for the fresh sysfs; read-only where the one it covers is (the kernel refuses more in a user namespace)."""
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    try:
        read_only = os.statvfs("/sys").f_flag & os.ST_RDONLY
    except OSError:
        return flags
    return flags | kernel.MS_RDONLY if read_only else flags


def _let_go_of_descriptors() -> None:
    """Close all that the holder had open, so that no pipe of it lives on here."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, 1024)
