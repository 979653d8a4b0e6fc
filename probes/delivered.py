"""The delivered probe: with which variables do processes of this node run, and which of NCCL's files would they open?

One request {"do": "look", "pids": [...], "container": NAME or null, "find": bool, "names": [...]}, one answer. Looks at
the named processes and all their children; `find` looks for those that have NCCL loaded. Reports environments by the
allow-list (and the names asked for, none that smells of a secret) as they were at the start of each process: what a
program changes later does not show in /proc. Judges nothing, touches no process.
"""

from __future__ import annotations

import os
import re
from typing import Any

from . import runtimes
from .environment import SECRET
from .facts import attempt, clean, listed, load, unknown
from .nccl_conf import MAX_BYTES, SYSTEM_FILE, values
from .raw import head
from .settings import MAX_VALUE, is_taken
from .wire import Wire

REQUEST_WAIT_S = 20.0
MAX_PROCESSES = 512
MAX_ENVIRON = 1 << 20
MAX_MAPS = 8 << 20
NO_SUCH = "no such process"
HIDDEN = re.compile(r"PASS|PWD|CRED|AUTH|COOKIE|DSN|_URL|_URI|PRIVATE|CERT")
LIBRARY = re.compile(rb"(/\S*libnccl\.so[.\d]*)(?: \(deleted\))?\n")


def parents(root: str = "") -> dict[int, int]:
    """Each process and its parent, of those that can be read; a name may hold anything, so the last ) counts."""
    found = {}
    for name in filter(str.isdecimal, listed(f"{root}/proc")):
        try:
            found[int(name)] = int(load(f"{root}/proc/{name}/stat").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    return found


def family(pids: list[int], parent_of: dict[int, int]) -> list[int]:
    """The processes and all that descend from them, parents first, at most 512."""
    children: dict[int, list[int]] = {}
    for pid, parent in sorted(parent_of.items()):
        children.setdefault(parent, []).append(pid)
    found: dict[int, None] = {}
    waiting = list(pids)
    while waiting and len(found) < MAX_PROCESSES:
        pid = waiting.pop(0)
        if pid not in found:
            found[pid] = None
            waiting += children.get(pid, [])
    return list(found)


def library(pid: int, root: str = "") -> Any:
    """The path of the libnccl a process has mapped, None where it has none, or why its map can't be read."""

    def read() -> Any:
        found = LIBRARY.search(head(f"{root}/proc/{pid}/maps", MAX_MAPS))
        return clean(found[1].decode("utf-8", "replace"))[:1024] if found else None

    return attempt(read)


def environ(pid: int, names: frozenset[str], root: str = "") -> Any:
    """The variables a process began with that may be reported, or why they can't be read."""
    return attempt(lambda: _reported(_raw_environ(pid, root), names))


def _raw_environ(pid: int, root: str) -> dict[str, str]:
    data = head(f"{root}/proc/{pid}/environ", MAX_ENVIRON).decode("utf-8", "surrogateescape")
    pairs = (entry.split("=", 1) for entry in data.split("\0") if "=" in entry)
    found: dict[str, str] = {}
    for name, value in pairs:
        found.setdefault(name, value)  # getenv takes the first of two
    return found


def _reported(environment: dict[str, str], names: frozenset[str]) -> dict[str, str]:
    wanted = (name for name in sorted(environment) if is_taken(name) or (name in names and not _is_secret(name)))
    return {clean(name): clean(environment[name])[:MAX_VALUE] for name in wanted}


def _is_secret(name: str) -> bool:
    """Whether a name that a preset asks for could hold one: a preset from elsewhere must not fetch a server's."""
    return (SECRET.search(name.upper()) or HIDDEN.search(name.upper())) is not None


def files(pid: int, root: str = "") -> Any:
    """model.host.ConfFile of NCCL's files as that process sees them, in its own file system; or why not."""
    return attempt(lambda: _files(pid, root))


def _files(pid: int, root: str) -> Any:
    environment = _raw_environ(pid, root)
    named, home = environment.get("NCCL_CONF_FILE", ""), environment.get("HOME", "")
    own = named or (f"{home}/.nccl.conf" if home.startswith("/") else "")
    if named and not named.startswith("/"):
        return unknown(f"NCCL_CONF_FILE is {clean(named)[:200]}, a path that is not absolute")
    found = []
    for path in dict.fromkeys(one for one in (own, SYSTEM_FILE) if one):
        try:
            text = head(f"{root}/proc/{pid}/root{path}", MAX_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            continue
        found.append({"path": clean(path), "values": values(text)})
    return found


def process(pid: int, parent: int, names: frozenset[str], root: str = "") -> dict[str, Any]:
    """All that is told of one process."""
    return {
        "pid": pid,
        "parent": parent,
        "name": attempt(lambda: clean(load(f"{root}/proc/{pid}/comm"))[:64]),
        "library": library(pid, root),
        "environ": environ(pid, names, root),
        "files": files(pid, root),
    }


def container_pid(name: str, root: str = "") -> Any:
    """The first process of a running container, or why it can't be told."""
    found = runtimes.inspect(name, root)
    if "problem" in found:
        return unknown(f"no container {name}: {found['problem']}")
    return found["pid"] or unknown(f"container {name} is not running")


def look(request: dict[str, Any], root: str = "") -> dict[str, Any]:
    """The answer to one request: {"event": "seen", "processes": [...], "unread": reason or ""}."""
    names = frozenset(str(name) for name in request.get("names", [])[:256])
    pids = [int(pid) for pid in request.get("pids", [])[:64]]
    parent_of = parents(root)
    if request.get("container"):
        found = container_pid(str(request["container"]), root)
        if isinstance(found, dict):
            return {"event": "seen", "processes": [], "unread": found["unknown"]}
        pids.append(found)
    gone = [pid for pid in pids if pid not in parent_of]
    if gone:
        return {"event": "seen", "processes": [], "unread": f"{NO_SUCH}: {', '.join(map(str, gone))}"}
    if request.get("find"):
        pids += [pid for pid in sorted(parent_of) if isinstance(library(pid, root), str)][:MAX_PROCESSES]
    processes = [process(pid, parent_of[pid], names, root) for pid in family(pids, parent_of) if pid != os.getpid()]
    return {"event": "seen", "processes": processes, "unread": "" if processes else "no process has NCCL loaded"}


def main(wire: Wire) -> int:
    """Answer one request; 1 when none came, 2 for another one."""
    request = wire.read(REQUEST_WAIT_S)
    if request is None:
        return 1
    if request.get("do") != "look":
        wire.write({"event": "error", "message": "the delivered probe only knows the request look"})
        return 2
    wire.write(look(request))
    return 0
