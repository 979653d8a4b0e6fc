"""A guest as the tests reach it: fabricdoc's own node for the scans, and a shell over ssh to make faults with."""

from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import time
from pathlib import Path

from fabricdoc.transport import NodeSpec
from fabricdoc.transport.nodes import DEFAULT_PYTHON
from tests.labs.seed import Machine

SCRIPT_LIMIT_S = 180
LOGINS = 3
NOT_BEGUN = "kex_exchange_identification"
"""ssh's word when the connection broke before anything of the script was sent: it may be tried again."""


class Guest:
    """One guest behind `ssh -F config NAME`. `changed` says that something was done to it since `restore`."""

    def __init__(self, machine: Machine, folder: Path, config: Path) -> None:
        self.machine = machine
        self.name = machine.name
        self.spec = NodeSpec(machine.name, machine.name, ssh_config=str(config))
        self.changed = False
        self._undo: list[str] = []
        sharing = ["-o", "ControlMaster=auto", "-o", f"ControlPath={folder}/{self.name}.ssh", "-o", "ControlPersist=60"]
        self._ssh = ["ssh", "-F", str(config), *sharing, "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"]

    def do(self, script: str, undo: str = "") -> str:
        """Run shell lines in the guest (each must succeed) and return what they print.

        `undo` are lines for what the healthy state does not say by itself; `restore` runs the last ones first.
        """
        self.changed = True
        self._undo.insert(0, undo)
        return self.ask(script)

    def ask(self, script: str, limit_s: float = SCRIPT_LIMIT_S) -> str:
        """As `do`, for lines that only look."""
        words = [*self._ssh, "--", self.name, "sh", "-eu"]
        for _ in range(LOGINS):
            done = subprocess.run(words, input=script, capture_output=True, text=True, timeout=limit_s, check=False)
            if NOT_BEGUN not in done.stderr:
                break
        assert done.returncode == 0, f"{self.name}: {script}\nended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def run_python_through(self, script: str) -> None:
        """Until `restore`, the node's python is this shell script, which ends in `exec ... python3 "$@"`."""
        path = f"/lab/python-{hashlib.sha256(script.encode()).hexdigest()[:8]}"
        self.do(f"cat > {path} <<'END'\n#!/bin/sh\n{script}\nEND\nchmod +x {path}\n")
        self.spec = dataclasses.replace(self.spec, python=path)

    def run_with(self, **variables: str) -> None:
        """Until `restore`, what runs on this node has these variables."""
        self.changed = True
        self.spec = dataclasses.replace(self.spec, env=variables)

    def restore(self) -> None:
        """The healthy state, the ordinary python, and this machine's time."""
        self.spec = dataclasses.replace(self.spec, python=DEFAULT_PYTHON, env={})
        lines = "\n".join(("set +e", *filter(None, self._undo), "set -e"))
        self.ask(f"{lines}\n/lab/healthy @{time.time():.2f}\n")
        self.changed, self._undo = False, []

    def hang_up(self) -> None:
        """End the shared connection."""
        words = [*self._ssh, "-O", "exit", self.name]
        subprocess.run(words, capture_output=True, timeout=10, check=False)
