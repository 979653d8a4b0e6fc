"""What /proc tells of processes, for tests that watch them: children, processor time, whether one has ended."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """The pids of its children (of its first thread); OSError when it is gone."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def children_if_alive(pid: int) -> list[int]:
    """As `children`, none of a process that is gone."""
    try:
        return children(pid)
    except OSError:
        return []


def is_gone(pid: int) -> bool:
    """Whether it has ended, collected by its parent or not."""
    try:
        return _fields(pid)[0] in ("Z", "X")
    except OSError:
        return True


def cpu_ticks(pid: int) -> int:
    """Processor time in clock ticks, user and system; OSError when it is gone."""
    fields = _fields(pid)
    return int(fields[11]) + int(fields[12])


def _fields(pid: int) -> list[str]:
    """The fields of its stat behind the name, which may hold blanks and brackets: state first."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
