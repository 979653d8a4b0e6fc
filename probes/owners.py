"""Who listens on a TCP port of this node: the process, as far as /proc lets this user look. Ends and asks nobody."""

from __future__ import annotations

import re
import time
from pathlib import Path

from .facts import clean, listed, load

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
LISTENS = "0A"  # TCP_LISTEN, include/net/tcp_states.h
MAX_NAME = 64
LOOK_S = 0.5


def owner(port: int, root: str = "") -> str:
    """ "python3 (pid 4711)", or "" where it can't be told: another user's process, another namespace."""
    wanted = {f"socket:[{inode}]" for inode in listening(port, root)}
    end = time.monotonic() + LOOK_S
    for pid in filter(str.isdecimal, listed(f"{root}/proc") if wanted else ()):
        if time.monotonic() >= end:
            break
        folder = f"{root}/proc/{pid}/fd"
        if any(_target(f"{folder}/{name}") in wanted for name in listed(folder)):
            return f"{clean(_text(f'{root}/proc/{pid}/comm'))[:MAX_NAME] or 'a process'} (pid {pid})"
    return ""


def listening(port: int, root: str = "") -> set[str]:
    """The inodes of sockets that listen on a port, whatever the address."""
    found = set()
    for table in TABLES:
        for row in _text(root + table).splitlines()[1:]:
            cells = row.split()
            if len(cells) > 9 and cells[3] == LISTENS and re.fullmatch(rf"[0-9A-F]+:{port:04X}", cells[1]):
                found.add(cells[9])
    return found


def _text(path: str) -> str:
    try:
        return load(path)
    except OSError:
        return ""


def _target(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
