"""Words of `fabricdoc gate` made into what a gate is asked, and its answer into the file a collector reads.

Checks words and files; looks at no node.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fabricdoc.errors import FabricdocError, InputError, ToolError, UsageError
from fabricdoc.gate import check_ids
from fabricdoc.model.preset import Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.checking import DEADLINES_S, Asked, Progress, check_drift, check_level
from fabricdoc.workflow.meant import find_preset, this_hostname

if TYPE_CHECKING:
    from fabricdoc.workflow.delivering import Where

NONE = "none"
MOST_REASON = 400
MOST_DEADLINE_S = 3600.0


@dataclass(frozen=True)
class GateWords:
    """Options of the gate as typed, see `fabricdoc gate --help`; `named`: some option names nodes."""

    preset: str | None = None
    level: str = "quick"
    waive: Sequence[str] = ()
    drift: str = "fail"
    deadline_s: float | None = None
    named: bool = False
    python: str = ""
    store: Path | None = None
    folders: Sequence[Path] = ()


@dataclass(frozen=True)
class LocalWords:
    """Options of one node's own part."""

    local: bool = False
    node: str | None = None
    hardware: Sequence[str] = ()


@dataclass(frozen=True)
class JobWords:
    """Options about the job that is to start, or runs."""

    profile: str = ""
    pid: Sequence[str] = ()
    container: Sequence[str] = ()
    env: Sequence[str] = ()
    ports: Sequence[int] = ()
    launch: str = ""
    command: Sequence[str] = ()


def read_gate(
    words: GateWords,
    part: LocalWords,
    job: JobWords,
    name_nodes: Callable[[], Sequence[NodeSpec]] = tuple,
    progress: Progress = lambda _: None,
) -> Asked:
    """What is asked; `name_nodes` gives the nodes that were named (none: the preset's).

    UsageError or InputError for words, files, presets and nodes that can't be used.
    """
    level, drift = check_level(words.level), check_drift(words.drift)
    waived = read_waivers(words.waive)
    hardware = check_ids([one for word in part.hardware for one in word.split(",") if one], "--hardware")
    if hardware and not part.local:
        raise UsageError("--hardware says what --local may refuse for", fix="--local --hardware ID,ID")
    deadline_s = DEADLINES_S[level] if words.deadline_s is None else _deadline(words.deadline_s)
    preset = _preset(words, job, progress)
    nodes = tuple(name_nodes()) or (() if preset else (NodeSpec("local", "local"),))
    names = [spec.name for spec in nodes] or [node.name for node in (preset.nodes if preset else ())]
    return Asked(
        preset=preset,
        specs=nodes,
        level=level,
        profile=job.profile,
        local=_local(part, preset, names),
        waived=waived,
        drift=drift,
        hardware=hardware,
        deadline_s=deadline_s,
        wheres=_wheres(job),
        env=read_env(job.env, names),
        launch=tuple(job.command) or tuple(_split(job.launch)),
        ports=tuple(job.ports),
        folders=tuple(words.folders),
        python=words.python,
        store=words.store,
    )


def read_waivers(items: Sequence[str]) -> dict[str, str]:
    """Reasons by check id from ID=REASON. UsageError for an id that is none, or no reason."""
    found: dict[str, str] = {}
    for item in items:
        id, _, reason = item.partition("=")
        reason = " ".join(reason.split())[:MOST_REASON]
        if not reason or not reason.isprintable():
            raise UsageError(f"--waive {item[:60]!r} gives no reason", fix=f"--waive {id[:40]}='why it may pass'")
        found[check_ids([id], "--waive")[0]] = reason
    return found


def read_env(items: Sequence[str], nodes: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """(node or "", file) from FILE or NODE=FILE; a file that is there by the whole word wins."""
    found = []
    for item in items:
        node, sign, file = item.partition("=")
        named = bool(sign) and not Path(item).exists()
        if named and node not in nodes:
            raise UsageError(f"--env {item[:80]!r}: {node[:60]!r} is no node", fix=f"nodes: {', '.join(nodes)}")
        path = Path(file if named else item)
        if not path.is_file():
            raise InputError(f"--env {path}: there is no such file", fix="name an env file, compose or Kubernetes file")
        found.append((node if named else "", path))
    return tuple(found)


def _deadline(seconds: float) -> float:
    if not math.isfinite(seconds) or not 0 < seconds <= MOST_DEADLINE_S:
        raise UsageError(f"--deadline {seconds:g} is no time", fix="seconds above 0, at most 3600")
    return seconds


def _preset(words: GateWords, job: JobWords, progress: Progress) -> Preset | None:
    """The preset meant; None where none is, and the nodes or --env say what to judge instead."""
    if words.preset == NONE:
        return None
    try:
        return find_preset(words.preset, words.store, progress)
    except FabricdocError as error:
        if words.preset is None and (job.env or words.named) and error.id in ("no-run", "no-preset"):
            return None
        if words.preset is None and not error.fix.startswith("--preset"):
            raise type(error)(
                error.message, fix=f"{error.fix}; or judge without one: --preset none", id=error.id
            ) from error
        raise


def _local(part: LocalWords, preset: Preset | None, names: Sequence[str]) -> str:
    """The node whose own part is asked: --node, else this machine's node, else the only one."""
    if not part.local:
        if part.node is not None:
            raise UsageError("--node says which node --local is about", fix="--local --node NAME")
        return ""
    if part.node is not None and (preset is None or part.node in names):
        return part.node
    if preset is not None:
        from fabricdoc.export import choose_node

        return choose_node(preset, part.node, this_hostname()).name
    if len(names) == 1:
        return names[0]
    raise UsageError("which node's part is asked?", fix=f"--node, one of {', '.join(names)}", id="node-needed")


def _wheres(job: JobWords) -> tuple[Where, ...]:
    given = (("pid", job.pid), ("container", job.container))
    if not (job.pid or job.container):
        return ()
    from fabricdoc.workflow.delivering import read_where

    return tuple(read_where(kind, said) for kind, said in given if said)  # type: ignore[arg-type]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"--launch can't be read as a command line: {error}", fix="quote it as a shell would"
        ) from error


def write_textfile(path: Path, text: str) -> None:
    """Write it whole or not at all, so that a collector never reads half of one.

    What stands there is replaced, so it must be a file, or a link to one: UsageError for a device, a pipe or a folder.
    ToolError when it can't be written.
    """
    real = Path(os.path.realpath(path))
    if os.path.lexists(real) and not real.is_file():
        raise UsageError(
            f"--textfile {path} is no file, and would be replaced by one",
            fix="name a file whose name ends in .prom; --line and --json write to stdout",
        )
    part = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            os.fchmod(handle, 0o644)
            stream.write(text)
        part.replace(real)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise ToolError(
            f"--textfile {path} can't be written: {error.strerror}",
            fix=f"make {real.parent}, writable for you",
            id="output",
        ) from error
