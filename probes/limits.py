"""Limits and sizes that hold for a process started here: locked memory, /dev/shm, the memory of the machine.

Reads only; what is too little is fabricdoc's to say.
"""

from __future__ import annotations

import os
import re
import resource
from typing import Any

from .facts import load, unknown

CAP_IPC_LOCK = 14
UNLIMITED = -1


def meminfo(text: str, name: str) -> Any:
    """One line of /proc/meminfo in bytes (it says kB and means KiB)."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else unknown(f"/proc/meminfo has no {name}")


def memlock(root: str) -> int:
    """The locked-memory limit that holds for RDMA registration here, in bytes; -1 when there is none.

    The kernel does not hold a process with CAP_IPC_LOCK in the first user namespace to its limit
    (drivers/infiniband/core/umem.c), so for such a process the answer is -1 whatever the limit says.
    """
    if _in_first_user_namespace(root) and _capabilities(root) >> CAP_IPC_LOCK & 1:
        return UNLIMITED
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _in_first_user_namespace(root: str) -> bool:
    return load(f"{root}/proc/self/uid_map").split() == ["0", "0", "4294967295"]


def _capabilities(root: str) -> int:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", load(f"{root}/proc/self/status"), re.MULTILINE)
    return int(found[1], 16) if found else 0


def size(path: str) -> int:
    """Bytes of the file system at `path`; raises OSError."""
    about = os.statvfs(path)
    return about.f_blocks * about.f_frsize
