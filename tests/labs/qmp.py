"""QEMU's monitor (QMP) over its unix socket: one command at a time, each with a deadline."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from typing import Any

LIMIT_S = 20.0


class Monitor:
    """A connection to the monitor at `path`, which is waited for."""

    def __init__(self, path: Path, limit_s: float = LIMIT_S) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(limit_s)
        end = time.monotonic() + limit_s
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
        self._lines = self._socket.makefile("r", encoding="utf-8")
        self._lines.readline()
        self.command("qmp_capabilities")

    def command(self, name: str, /, **arguments: Any) -> Any:
        """What the command returned; events in between are passed over. Raises RuntimeError for a refusal."""
        message = {"execute": name, **({"arguments": arguments} if arguments else {})}
        self._socket.sendall(json.dumps(message).encode())
        while True:
            answer = json.loads(self._lines.readline() or '{"error": "the monitor closed"}')
            if "error" in answer:
                raise RuntimeError(f"{name}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def set_link(self, netdev: str, up: bool) -> None:
        """Plug or pull the cable of a netdev, by its id."""
        self.command("set_link", name=netdev, up=up)

    def ssh_port(self) -> int:
        """The loopback port that leads to the guest's port 22; the kernel chose it."""
        text = self.command("human-monitor-command", **{"command-line": "info usernet"})
        found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)", text)
        assert found, text
        return int(found[1])

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._socket.close()
