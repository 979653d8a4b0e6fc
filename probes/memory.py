"""How much memory this node has left, for the agent's two limits: before a launch, and while it runs.

Reads MemAvailable only; drops no cache, ends nothing itself. Where /proc/meminfo can't be read no limit is kept,
and the answer says so by being None.
"""

from __future__ import annotations

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GIB = 1 << 30


def available(meminfo: Path = MEMINFO) -> int | None:
    """MemAvailable in bytes (the kernel's own estimate, Documentation/filesystems/proc.rst), or None."""
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def shortage(need: int, keep: int, meminfo: Path = MEMINFO) -> str:
    """Why a launch that takes `need` bytes must not start when `keep` must stay free; "" when it may."""
    free = available(meminfo)
    if free is None or free - need >= keep:
        return ""
    return (
        f"not started: {free / GIB:.1f} GiB of memory are available, the launch needs {need / GIB:.1f} GiB "
        f"and {keep / GIB:.1f} GiB must stay free"
    )
