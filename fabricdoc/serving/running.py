"""A server that runs: its command line and environment from /proc, or from docker or podman for a container.

Only looks. An environment is used for what it switches on and never kept or shown: it may hold secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.serving.launch import Launch, find_launch
from fabricdoc.transport import output_of, parse_node

MAX_BYTES = 4 << 20
DEADLINE_S = 8.0
MOST_PARENTS, MOST_PROCESSES = 16, 20_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
FORMAT = "[{{json .Path}},{{json .Args}},{{json .Config.Env}},{{json .State.Pid}}]"


@dataclass(frozen=True, slots=True)
class Running:
    """The launch of a running server, the environment it was given, and the root folder it sees ("" for ours)."""

    launch: Launch
    environ: Mapping[str, str]
    root: str = ""


def running_process(pid: int, proc: str = "/proc") -> Running:
    """The server that process is part of: itself, else a parent (workers rename themselves). UsageError for none."""
    if not Path(f"{proc}/{pid}").is_dir():
        raise UsageError(f"no process {pid} runs here", fix="name the server's pid", id="no-process")
    for one in _with_parents(pid, proc):
        launch = find_launch(_words(f"{proc}/{one}/cmdline"))
        if launch is not None:
            return Running(launch, _environ(one, proc), _root(one, proc))
    raise UsageError(
        f"process {pid} and its parents are no vLLM, SGLang or TensorRT-LLM server",
        fix="name the pid of the server itself, or give its launch line: --from 'vllm serve ...'",
        id="no-server",
    )


def running_container(name: str, proc: str = "/proc") -> Running:
    """The server in that container: what it was started with, else what runs in it now. UsageError for none."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no name of a container", id="no-container")
    words, environ, pid = _inspected(name)
    launch = find_launch(words)
    if launch is not None:
        return Running(launch, environ, _root(pid, proc) if pid else "")
    for one in _beside(pid, proc) if pid else ():
        launch = find_launch(_words(f"{proc}/{one}/cmdline"))
        if launch is not None:
            return Running(launch, environ | _environ(one, proc), _root(one, proc))
    raise UsageError(
        f"container {name} runs no vLLM, SGLang or TensorRT-LLM server that can be seen",
        fix="name the server's pid (--from pid:N), or give its launch line",
        id="no-server",
    )


def _inspected(name: str) -> tuple[list[str], dict[str, str], int]:
    problems = []
    for runtime in ("docker", "podman"):
        argv = [runtime, "container", "inspect", "--format", FORMAT, "--", name]
        try:
            said = output_of(parse_node("local"), argv, deadline_s=DEADLINE_S)
        except NodeError as error:
            problems.append(error.message)
            continue
        if said.status == 0 and (found := read_inspected(said.stdout)) is not None:
            return found
        problems.append((said.stderr.strip().splitlines() or [f"{runtime} said what can't be read"])[-1][:200])
    raise UsageError(f"no container {name}: {'; '.join(problems)}", id="no-container")


def read_inspected(said: str) -> tuple[list[str], dict[str, str], int] | None:
    """Words, environment and pid in what `inspect` printed; None where it is none."""
    try:
        program, args, pairs, pid = json.loads(said)
        words = [str(program), *map(str, args or [])]
        environ = dict(str(pair).split("=", 1) for pair in pairs or [] if "=" in str(pair))
        return words, environ, int(pid or 0)
    except (ValueError, TypeError, RecursionError):
        return None


def _with_parents(pid: int, proc: str) -> Iterator[int]:
    for _ in range(MOST_PARENTS):
        if pid <= 1:
            return
        yield pid
        stat = _data(f"{proc}/{pid}/stat").decode("utf-8", "replace").rpartition(")")[2].split()
        pid = int(stat[1]) if len(stat) > 1 and stat[1].isdecimal() else 0


def _beside(pid: int, proc: str) -> Iterator[int]:
    """Processes of the same control group: what was started in a container afterwards (docker exec)."""
    group = _data(f"{proc}/{pid}/cgroup")
    try:
        names = sorted(int(one.name) for one in Path(proc).iterdir() if one.name.isdecimal())[:MOST_PROCESSES]
    except OSError:
        return
    yield from (one for one in names if group and _data(f"{proc}/{one}/cgroup") == group)


def _words(path: str) -> list[str]:
    text = _data(path).decode("utf-8", "replace")
    return [word for word in text.split("\0") if word]


def _environ(pid: int, proc: str) -> dict[str, str]:
    """What it was started with; empty where this user may not read it."""
    pairs = _data(f"{proc}/{pid}/environ").decode("utf-8", "replace").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _root(pid: int, proc: str) -> str:
    """The root folder of that process where it is not ours and may be looked into."""
    try:
        same = Path(f"{proc}/{pid}/root").stat() == Path("/").stat()
    except OSError:
        return ""
    return "" if same else f"{proc}/{pid}/root"


def _data(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(MAX_BYTES)
    except OSError:
        return b""
