"""Asks docker or podman about one container: its name, its state, the variables it was given (allow-listed ones).

`inspect` alone, with argv and a deadline; nothing is started, stopped or changed. Of what it prints, only what is named
here is kept: the rest may hold secrets.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from .facts import clean

RUNTIMES = ("docker", "podman")
FOLDERS = ("/usr/bin", "/usr/local/bin", "/bin", "/snap/bin")
LIMIT_S = 8.0
MAX_SAID = 4 << 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)


def inspect(container: str, root: str = "") -> dict[str, Any]:
    """{"runtime", "name", "id", "pid", "environ"} of a container, or {"problem": why}; `environ` holds NAME=value."""
    if not NAME.fullmatch(container):
        return {"problem": "no name of a container"}
    problems = []
    for runtime in RUNTIMES:
        program = next((f"{root}{folder}/{runtime}" for folder in FOLDERS if _runs(f"{root}{folder}/{runtime}")), "")
        found = _ask(program, container) if program else f"no {runtime} here"
        if isinstance(found, dict):
            return {"runtime": runtime, **found}
        problems.append(found)
    return {"problem": "; ".join(problems)}


def _runs(path: str) -> bool:
    return os.access(path, os.X_OK)


def _ask(program: str, container: str) -> dict[str, Any] | str:
    import subprocess

    name = program.rpartition("/")[2]
    argv = [program, "container", "inspect", "--", container]
    kept = ("HOME", "DOCKER_HOST", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    plain = {one: os.environ[one] for one in kept if one in os.environ}
    plain |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, env=plain, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{name} gave no answer within {LIMIT_S:g} s"
    except OSError as error:
        return f"{name}: {error.strerror}"
    if done.returncode:
        last = done.stderr[-400:].decode("utf-8", "replace").strip().splitlines()
        return clean(f"{name}: {last[-1] if last else f'status {done.returncode}'}")[:300]
    return read(done.stdout[:MAX_SAID]) or f"{name} said what can't be read"


def read(said: bytes) -> dict[str, Any] | None:
    """The container in what `inspect` printed, None where it is none."""
    try:
        one = json.loads(said)[0]
        environ = one.get("Config", {}).get("Env") or []
        return {
            "id": clean(str(one["Id"]))[:64],
            "name": clean(str(one.get("Name", ""))).lstrip("/")[:128],
            "pid": int(one.get("State", {}).get("Pid") or 0),
            "environ": [clean(line) for line in environ if isinstance(line, str)],
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
