"""The holder: the one process a lab hangs on. It makes the namespaces and links, says so, and waits.

Speaks one JSON line each way: the spec in, then `{"holder","start","nodes"}` or `{"error"}` out. A lab of a
caller ends with the caller (SIGKILL from the kernel, or the end of stdin). A standing lab gets a second line,
`{"keep": STATE FILE}`, and ends at SIGTERM or when that file is gone or names another holder. The host's own
network namespace is never touched. It runs nothing inside the nodes.
"""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from fabricdoc.errors import FabricdocError
from fabricdoc.lab import kernel
from fabricdoc.lab.pause import Pause, await_pause, refusal, spawn_pause
from fabricdoc.lab.processes import start_time
from fabricdoc.lab.spec import LabNode, LabSpec, lab_node
from fabricdoc.lab.wiring import wire

BRING_UP_S = 15
STATE_CHECK_S = 2
MAX_LINE = 1 << 20


def main(parent: int) -> int:
    """Hold one lab: for the process `parent`, or standing on its own feet when `parent` is 0."""
    if parent:
        kernel.die_with_parent(parent)
    elif os.fork():
        os._exit(0)
    _own_signals()
    os.chdir("/")
    pauses: list[Pause] = []
    try:
        line = _read_line(0)
        if line:
            nodes = _build(LabSpec(**json.loads(line)), parent, pauses)
            _write_line({"holder": os.getpid(), "start": start_time(os.getpid()), "nodes": nodes})
            signal.alarm(0)
            _wait(pauses)
    except FabricdocError as error:
        _write_line({"error": {"id": error.id, "message": error.message, "fix": error.fix}})
        return 1
    except OSError as error:
        _write_line({"error": {"id": "lab-failed", "message": f"the lab can't be made: {error}", "fix": ""}})
        return 1
    finally:
        _end_pauses(pauses)
    return 0


def _own_signals() -> None:
    """Undo what a caller may have blocked or ignored; clear up at SIGTERM; the alarm ends a stuck bring-up."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, _end)
    signal.alarm(BRING_UP_S)


def _end(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


def _build(spec: LabSpec, parent: int, pauses: list[Pause]) -> list[dict[str, Any]]:
    """Namespaces, then links; `pauses` is filled as they start, so that a failure can end them."""
    deadline = time.monotonic() + BRING_UP_S
    _leave_host_network(parent)
    kernel.set_process_name("fabricdoc-lab")
    for name in spec.nodes:
        pauses.append(spawn_pause(name))  # noqa: PERF401 - each must be known even if the next one fails
    notes = [await_pause(pause) for pause in pauses]
    wire(spec, [pause.pid for pause in pauses], deadline)
    nodes: list[LabNode] = [lab_node(spec, index, pause.pid, notes[index]) for index, pause in enumerate(pauses)]
    return [dataclasses.asdict(node) for node in nodes]


def _leave_host_network(parent: int) -> None:
    """A network namespace of our own; where root's rights are missing, inside a user namespace of our own."""
    try:
        if os.geteuid() == 0 and _unshared_as_root():
            return
        _enter_user_namespace()
    except OSError as error:
        raise refusal(error, "namespaces of its own") from error
    if parent:
        kernel.die_with_parent(parent)


def _unshared_as_root() -> bool:
    """Whether a network namespace was to be had without a user namespace (not so in most containers)."""
    try:
        kernel.unshare(kernel.CLONE_NEWNET)
    except PermissionError:
        return False
    return True


def _enter_user_namespace() -> None:
    """User and network namespaces of our own, the caller's uid and gid being 0 in there."""
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET)
    for file, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        Path("/proc/self", file).write_text(text, encoding="ascii")


def _wait(pauses: Sequence[Pause]) -> None:
    """Until the caller is gone, a node has died, or (standing) the state file no longer names us."""
    watched = {os.pidfd_open(pause.pid) for pause in pauses} | {0}
    kept: Path | None = None
    while True:
        ready = set(select.select(watched, [], [], STATE_CHECK_S if kept else None)[0])
        if ready - {0} or (kept and not _names_us(kept)):
            return
        if 0 in ready:
            line = _read_line(0) if kept is None else b""
            if not line and kept is None:
                return
            kept = kept or Path(json.loads(line)["keep"])
            watched.discard(0)


def _names_us(state_file: Path) -> bool:
    """Whether a standing lab's state file still stands for this process; without it nobody could end us."""
    try:
        return bool(json.loads(state_file.read_text(encoding="utf-8"))["pid"] == os.getpid())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _end_pauses(pauses: Sequence[Pause]) -> None:
    """Kill and reap the pause processes: with them go their namespaces and links."""
    for pause in pauses:
        os.kill(pause.pid, signal.SIGKILL)
    for pause in pauses:
        os.waitpid(pause.pid, 0)


def _read_line(descriptor: int) -> bytes:
    """One line from `descriptor` without reading past it; empty at its end."""
    line = b""
    while not line.endswith(b"\n") and len(line) < MAX_LINE:
        byte = os.read(descriptor, 1)
        if not byte:
            return b""
        line += byte
    return line


def _write_line(message: dict[str, Any]) -> None:
    """One message to the caller; a caller that is gone is noticed by the end of stdin, not here."""
    try:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise SystemExit(1) from None
