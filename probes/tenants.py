"""Who uses a GPU: the name and the container of each process that NVML lists.

Names come from /proc, so they hold only where this process counts processes as the driver does: in the first pid
namespace. In any other a number may be another process's, and the name is unknown. Ends and asks nobody.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .facts import attempt, clean, load, unknown

FIRST_PID_NAMESPACE = 0xEFFFFFFC  # its inode: PROC_PID_INIT_INO, include/linux/proc_ns.h
MAX_NAME = 64
OTHER_NAMES = "this process has a pid namespace of its own"
# Container runtimes name the cgroup after the container's id (docker-ID.scope, cri-containerd-ID.scope, /docker/ID);
# LXC after its name.
BY_ID = re.compile(r"(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)", re.MULTILINE)
BY_NAME = re.compile(r"/lxc(?:\.payload\.|/)([\w.-]{1,64})")


def named(said: list[dict[str, Any]], root: str = "") -> list[dict[str, Any]]:
    """model.gpu.Tenant of each {"pid", "memory_bytes"} that was said."""
    ours = is_first_pid_namespace(root)
    return [
        {
            "pid": one["pid"],
            "name": name(one["pid"], root) if ours else unknown(OTHER_NAMES),
            "container": container(one["pid"], root) if ours else None,
            "memory_bytes": one["memory_bytes"],
        }
        for one in said
    ]


def is_first_pid_namespace(root: str = "") -> bool:
    """Whether process numbers here are the machine's own."""
    try:
        descriptor = os.open(f"{root}/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.fstat(descriptor).st_ino == FIRST_PID_NAMESPACE
    finally:
        os.close(descriptor)


def name(pid: int, root: str = "") -> Any:
    """The short name of a process, or why it can't be told (it may be over by now)."""
    return attempt(lambda: clean(load(f"{root}/proc/{pid}/comm"))[:MAX_NAME] or unknown("the process has no name"))


def container(pid: int, root: str = "") -> str | None:
    """Id or name of the container a process is in; None outside one, or where /proc does not tell."""
    try:
        text = load(f"{root}/proc/{pid}/cgroup")
    except OSError:
        return None
    found = BY_ID.search(text) or BY_NAME.search(text)
    return found[1] if found else None
