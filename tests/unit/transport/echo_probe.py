"""A probe for tests of the transport: does what a message says, misbehaving included. Sent as `probes/echo.py`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from .wire import Wire


def facts() -> dict[str, Any]:
    """What a test can see of where and how this runs."""
    return {
        "event": "facts",
        "pid": os.getpid(),
        "python": sys.executable,
        "isolated": bool(sys.flags.isolated),
        "path": sys.path,
        "argv": sys.argv,
        "folder": str(Path.cwd()),
        "hostname": os.uname().nodename,
        "netdevs": sorted(
            line.split(":")[0].strip() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]
        ),
        "namespaces": {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "mnt", "uts", "net")},  # noqa: PTH115
        "env": dict(os.environ),
        "files": sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208
    }


def obey(wire: Wire, message: dict[str, Any]) -> int | None:
    """Do one thing; an exit status ends the probe."""
    word = message["do"]
    if word == "facts":
        wire.write(facts())
    elif word == "echo":
        wire.write({"event": "echo", "value": message["value"]})
    elif word == "big":
        wire.write({"event": "big", "text": "x" * message["bytes"]})
    elif word == "raw":
        os.write(wire._out, message["text"].replace("PREFIX", wire._prefix.decode()).encode())
    elif word == "print":
        sys.stdout.write("a stray print\n")
        sys.stdout.flush()
        wire.write({"event": "printed"})
    elif word == "complain":
        sys.stderr.write(message["text"])
        sys.stderr.flush()
        wire.write({"event": "complained"})
    elif word == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif word == "stop-if-noted":
        if "NOTE" in os.environ:
            Path(os.environ["NOTE"]).write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        wire.write({"event": "fine"})
    elif word == "note":
        Path(os.environ["NOTE"]).write_text("noted")
    elif word == "hang":
        signal.pause()
    elif word == "child":
        wire.write({"event": "child", "pid": os.spawnvp(os.P_NOWAIT, "sleep", ["sleep", "60"])})
    elif word == "die":
        return int(message["status"])
    return None


def main(wire: Wire) -> int:
    """Obey until the controller is gone."""
    while not wire.closed:
        message = wire.read(60.0)
        if message is not None and (status := obey(wire, message)) is not None:
            return status
    return 0
