"""The settings probe: which communication variables a process, a container or a file of this node holds, and who it is.

One request, one answer. {"do": "read", "kind": "pid"|"container"|"file", "value": ...} gives {"values": {...}, "who":
...} or {"problem": ...}; {"do": "who", "pids": [...]} names processes, their containers and units. Only variables on
the allow-list leave the node (they can hold no secret); nothing is changed, and nobody is stopped.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from typing import Any

from . import runtimes, tenants
from .environment import MAX_NAME, SECRET
from .facts import attempt, clean, exists, is_unknown, load
from .wire import Wire

REQUEST_S = 20.0
MAX_ENVIRON = 4 << 20
MAX_FILE = 1 << 20
MAX_VALUE = 4096
MAX_PIDS = 32
TAKEN = ("NCCL_", "GLOO_", "UCX_", "TP_SOCKET_IFNAME", "TORCH_NCCL_", "OMP_")
TAKEN_WHOLE = ("LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING")
UNIT = re.compile(r"/([A-Za-z0-9@_.:\\-]{1,200}\.service)(?:/|$)", re.MULTILINE)
LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)")


def is_taken(name: str) -> bool:
    """Whether a variable leaves the node: NCCL's and its neighbours', none that smells of a secret."""
    known = name.startswith(TAKEN) or name in TAKEN_WHOLE
    harmless = name.startswith("NCCL_IB_PKEY") or not SECRET.search(name.upper())
    return known and len(name) <= MAX_NAME and harmless


def taken(pairs: Iterable[str]) -> dict[str, str]:
    """The allow-listed ones of NAME=value texts, cut to 4096 characters."""
    split = (one.partition("=") for one in pairs)
    return {clean(name): clean(value)[:MAX_VALUE] for name, equals, value in split if equals and is_taken(name)}


def of_process(pid: int, root: str = "") -> dict[str, Any]:
    """The environment a process was started with (later changes of its own don't show), and its name."""
    path = f"{root}/proc/{pid}/environ"
    try:
        data = _bytes(path, MAX_ENVIRON)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return {"problem": f"no process {pid} runs there"}
        return {"problem": f"{path}: {error.strerror}", "denied": error.errno in (errno.EACCES, errno.EPERM)}
    if not data:
        return {"problem": f"process {pid} shows no environment (a kernel thread, or it is over)"}
    name = tenants.name(pid, root)
    who = f"{'process' if is_unknown(name) else name} (pid {pid})"
    return {"values": taken(data.decode("utf-8", "replace").split("\0")), "who": who}


def of_container(name: str, root: str = "") -> dict[str, Any]:
    """The variables a container was given (image and command line; what its entrypoint exports does not show)."""
    found = runtimes.inspect(name, root)
    if "problem" in found:
        return {"problem": f"no container {name}: {found['problem']}"}
    return {"values": taken(found["environ"]), "who": f"{found['runtime']} container {found['name'] or name}"}


def of_file(path: str, root: str = "") -> dict[str, Any]:
    """The KEY=value lines of a regular file (a pipe or device might never end), quotes as they stand."""
    import stat

    try:
        handle = os.open(root + path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            regular = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
            data = stream.read(MAX_FILE) if regular else b""
    except (OSError, ValueError) as error:
        missing = getattr(error, "errno", None) == errno.ENOENT
        return {"problem": f"{path}: {getattr(error, 'strerror', None) or error}", "missing": missing}
    if not regular:
        return {"problem": f"{path}: not a regular file"}
    found = (LINE.match(line) for line in data.decode("utf-8-sig", "replace").splitlines())
    return {"values": taken(f"{one[1]}={one[2]}" for one in found if one), "who": path}


def who(pid: int, root: str = "") -> dict[str, Any]:
    """A process: its name, its container (name where a runtime knows it, else id), the systemd unit it is part of."""
    ours = tenants.is_first_pid_namespace(root)
    if not ours or not exists(f"{root}/proc/{pid}"):
        return {"pid": pid, "name": "", "container": None, "unit": None, "runtime": None}
    container = tenants.container(pid, root)
    known = runtimes.inspect(container, root) if container else {}
    name = tenants.name(pid, root)
    cgroup = attempt(lambda: load(f"{root}/proc/{pid}/cgroup"))
    unit = None if container or is_unknown(cgroup) else UNIT.search(cgroup)
    return {
        "pid": pid,
        "name": "" if is_unknown(name) else name,
        "container": known.get("name") or container,
        "runtime": known.get("runtime"),
        "unit": unit[1] if unit and not unit[1].startswith("user@") else None,
    }


def answer(request: dict[str, Any], root: str = "") -> dict[str, Any]:
    """The answer to one request; raises ValueError, KeyError, TypeError for what is none."""
    if request.get("do") == "who":
        return {"users": [who(int(pid), root) for pid in list(request["pids"])[:MAX_PIDS]]}
    if request.get("do") != "read":
        raise ValueError(f"no such request: {str(request)[:200]}")
    kind, value = str(request["kind"]), str(request["value"])
    if kind == "pid":
        return of_process(int(value), root)
    return of_container(value, root) if kind == "container" else of_file(value, root)


def _bytes(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a file of /proc, which has no size."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    data = b""
    try:
        while len(data) < limit and (chunk := os.read(descriptor, 1 << 16)):
            data += chunk
    finally:
        os.close(descriptor)
    return data[:limit]


def main(wire: Wire) -> int:
    """Answer one request; status 2 for what is none."""
    import sys

    request = wire.read(REQUEST_S)
    if request is None:
        return 0
    try:
        wire.write(answer(request))
    except (KeyError, TypeError, ValueError) as problem:
        sys.stderr.write(f"settings: {problem}\n")
        return 2
    return 0
