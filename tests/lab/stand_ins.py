"""Programs that stand in front of the real ones on PATH: they record what they were given, and do what is needed here.

`fabricdoc` is the real one of this checkout. `docker`, `vllm`, `ray` and `sglang`'s python3 only record; `ssh` runs
its command here, through a shell as sshd does; `srun` enters the lab's node for a step on one node, and runs a task per
node with the TaskProlog's variables for a step on all.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.lab.marked import ROOT

RECORDS = f"""#!{sys.executable}
import json, os, sys
words = sys.argv[1:]
said = {{"program": os.path.basename(sys.argv[0]), "words": words, "env": dict(os.environ)}}
if "--env-file" in words:
    said["file"] = open(words[words.index("--env-file") + 1]).read()
with open(os.environ["RECORD"], "a") as record:
    record.write(json.dumps(said) + "\\n")
sys.exit(int(os.environ.get("FAIL_" + said["program"].upper(), "0")) if words[:1] != ["rm"] else 0)
"""
SSH = """#!/bin/sh
# as sshd: the words behind the host are one string for the login shell
shift
exec sh -c "$*"
"""
FABRICDOC = f"""#!/bin/sh
PYTHONPATH={ROOT} exec {sys.executable} -m fabricdoc "$@"
"""
SRUN = f"""#!{sys.executable}
import ctypes, json, os, subprocess, sys
words = sys.argv[1:]
flags = [word for word in words[: next(i for i, word in enumerate(words) if not word.startswith("-"))]]
command = words[len(flags):]
options = dict(flag.partition("=")[::2] for flag in flags)
node = options.get("--nodelist")
if node:  # a step on one node: in its namespaces, as the lab knows them
    pid = int(os.environ["LAB_" + node.upper()])
    handle = os.pidfd_open(pid)
    kinds = {{"mnt": 0x20000, "uts": 0x4000000, "net": 0x40000000}}
    here, there = ({{k: os.readlink(f"/proc/{{p}}/ns/{{k}}") for k in kinds}} for p in ("self", pid))
    away = sum(flag for kind, flag in kinds.items() if here[kind] != there[kind])
    assert ctypes.CDLL(None, use_errno=True).setns(handle, away) == 0
    os.execvp(command[0], command)
names = os.environ["SLURM_JOB_NODELIST"].split(",")
for number, name in enumerate(names):
    env = {{**os.environ, "SLURM_NODEID": str(number), "SLURM_NNODES": str(len(names)), "SLURMD_NODENAME": name}}
    if "--task-prolog" in options:
        said = subprocess.run([options["--task-prolog"]], env=env, capture_output=True, text=True, check=True).stdout
        lines = [line[len("export "):] for line in said.splitlines() if line.startswith("export ")]
        env |= dict(line.split("=", 1) for line in lines)
    subprocess.run(command, env=env, check=True)
"""
PYTHON = f"""#!/bin/sh
[ "$1" = -m ] && [ "$2" = sglang.launch_server ] && exec sglang "$@"
exec {sys.executable} "$@"
"""


class StandIns:
    """A folder to be first on PATH, and the record of what was started by way of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "record.jsonl"
        programs = {"fabricdoc": FABRICDOC, "ssh": SSH, "srun": SRUN, "python3": PYTHON}
        for name, text in {**programs, **dict.fromkeys(("docker", "vllm", "ray", "sglang"), RECORDS)}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment of a script under test."""
        path = f"{self.folder}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "RECORD": str(self.record), "XDG_STATE_HOME": str(self.folder), **more}

    def started(self) -> list[Mapping[str, Any]]:
        """What was started since the last question, in order."""
        if not self.record.exists():
            return []
        found = [json.loads(line) for line in self.record.read_text().splitlines()]
        self.record.unlink()
        return found
