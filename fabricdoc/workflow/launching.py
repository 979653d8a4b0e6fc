"""`fabricdoc run`'s job after the gate: this node's values, laid over the environment, and the command in our place.

The values are those that export-env writes, and what verify-env would say of the process is said here, by the same
function. Judges no fabric: that is the gate's, before. Nothing of ours is left in the process that follows.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shlex
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from fabricdoc.errors import FabricdocError, ToolError, UsageError
from fabricdoc.export import check_valid, choose_node, judge_delivery, render
from fabricdoc.model.delivery import Arrival, Delivery
from fabricdoc.model.preset import Preset
from fabricdoc.workflow.meant import find_preset
from fabricdoc.workflow.safety import refuse_unsafe

NONE = "none"
MOST_TOLD = 12
_LONGEST = 120
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""What the interpreter ignores from its start on; a program begun in its place would ignore them too."""
_WHY = {
    errno.ENOEXEC: "it is no program this machine can run (a script without `#!` in its first line?)",
    errno.E2BIG: "its arguments and environment are longer than the kernel takes",
    errno.EACCES: "it may not be run",
}


class OtherValueError(FabricdocError):
    """With --keep-env: the environment holds other values than the preset, so the launch is refused (exit 1)."""

    status = UsageError.status.NOT_FIT


@dataclass(frozen=True)
class Start:
    """A command about to take this process' place.

    `path` is the program found for its first word. `replaced` maps each variable that the environment held with another
    value to that value; `others` are NCCL's variables there that the preset does not hold, which stay as they are;
    `unlike` are those it was measured with, by their values then, that are absent or others here.
    """

    preset: str
    node: str
    path: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    values: Mapping[str, str]
    replaced: Mapping[str, str]
    others: Mapping[str, str]
    unlike: Mapping[str, str] = field(default_factory=dict)

    def told(self) -> list[str]:
        """What the user should read before the command speaks, one line each."""
        head = f"{len(self.values)} variable{'s' if len(self.values) != 1 else ''} of preset {self.preset}"
        lines = [f"{head} for {self.node}: {', '.join(self.values) or 'it has none'}"]
        shown = list(self.replaced.items())[:MOST_TOLD]
        lines += [f"replaced {name}: was {_shown(was)}, is {_shown(self.values[name])}" for name, was in shown]
        if len(self.replaced) > MOST_TOLD:
            lines.append(f"and {len(self.replaced) - MOST_TOLD} more replaced")
        if self.others:
            names = ", ".join(f"{name}={_shown(value)}" for name, value in list(self.others.items())[:MOST_TOLD])
            lines.append(f"set here and not by the preset, kept: {names}")
        if self.unlike:
            names = ", ".join(f"{name}={_shown(value)}" for name, value in list(self.unlike.items())[:MOST_TOLD])
            lines.append(f"measured with, and not so here: {names}")
        return lines


def preset_to_start(wanted: str | None, store: Path | None, progress: Callable[[str], None]) -> Preset:
    """The preset a command is started with: a file's, a run's, the latest one. UsageError for none at all.

    InputError for a file that was edited into something unsafe.
    """
    if wanted == NONE:
        fix = "name one with --preset; without values to set: fabricdoc gate --preset none && COMMAND"
        raise UsageError("`run` sets a preset's variables, and --preset none has none", fix=fix, id="preset-missing")
    preset = find_preset(wanted, store, progress)
    refuse_unsafe(preset)
    return preset


def find_program(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """The program that the first word names; UsageError where there is none, before a gate takes its time."""
    if not command:
        raise UsageError(
            "no command to run", fix="fabricdoc run --preset P -- vllm serve MODEL ...", id="command-missing"
        )
    path = shutil.which(command[0], path=environ.get("PATH", os.defpath))
    if path is None:
        raise UsageError(
            f"{_shown(command[0])}: no such program here", fix="name it with its path", id="command-missing"
        )
    return path


def make_start(
    preset: Preset,
    command: Sequence[str],
    environ: Mapping[str, str],
    hostname: str,
    *,
    node: str | None = None,
    keep_env: bool = False,
) -> Start:
    """The command with this node's variables, exactly as exported, over `environ`.

    Raises UsageError as export-env does (expired preset, no such node, a value no environment can hold) and, with
    `keep_env`, OtherValueError naming each variable that `environ` holds with another value.
    """
    path = find_program(command, environ)
    check_valid(preset)
    chosen = choose_node(preset, node, hostname)
    values = _values(preset, chosen.name)
    environment = {**environ, **values}
    before, after = (_delivery(preset, chosen.name, one) for one in (environ, environment))
    if after.answer != "delivered":
        raise ToolError(f"the environment for {chosen.name} is not the preset's: {after.reason}", id="env-not-set")
    variables = before.workers[0].variables if before.workers else ()
    replaced = {one.name: one.seen for one in variables if isinstance(one.seen, str) and one.outcome != "delivered"}
    if keep_env and replaced:
        raise _refused(chosen.name, values, replaced)
    return Start(
        preset=preset.name,
        node=chosen.name,
        path=path,
        command=tuple(command),
        environment=environment,
        values=values,
        replaced=replaced,
        others=after.workers[0].extra,
        unlike=after.workers[0].unlike,
    )


def _values(preset: Preset, name: str) -> dict[str, str]:
    """As export-env gives them to programs, once the shell's rules let them pass: the command may be a shell."""
    node = next(one for one in preset.nodes if one.name == name)
    try:
        render(preset, node, "bash")
        return dict(json.loads(render(preset, node, "json"))["variables"])
    except UsageError as error:
        raise UsageError(
            error.message, fix="take the variable out of the preset, or measure again", id=error.id
        ) from error


def _delivery(preset: Preset, node: str, environ: Mapping[str, str]) -> Delivery:
    """What verify-env would say of a process on that node with this environment."""
    wanted = preset.model_copy(update={"nodes": tuple(one for one in preset.nodes if one.name == node)})
    arrival = Arrival(node=node, pid=os.getpid(), source="the environment", environ=_clean(environ), files=())
    return judge_delivery(wanted, [arrival], {})


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    """What a document may hold of an environment: `?` for bytes that are no UTF-8 (the process gets them whole)."""
    return {name: value.encode("utf-8", "replace").decode() for name, value in environ.items()}


def _refused(node: str, values: Mapping[str, str], replaced: Mapping[str, str]) -> OtherValueError:
    told = "; ".join(
        f"{name} is {_shown(was)}, the preset has {_shown(values[name])}" for name, was in replaced.items()
    )
    unset = shlex.join(["unset", *replaced])
    return OtherValueError(
        f"{node}: the environment is not the preset's: {told}",
        fix=f"{unset}   (or leave --keep-env out: then they are replaced)",
        id="env-differs-from-preset",
    )


def _shown(value: str) -> str:
    text = "".join(letter if letter.isprintable() else "?" for letter in value)
    return shlex.quote(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")


def take_place(start: Start, files: tuple[int, int] | None = None) -> NoReturn:
    """Become the command: same process, its own status from now on. ToolError where the kernel refuses.

    What this process changed for itself goes back first: signals that Python ignores, and `files` (soft and hard limit
    of open files as they were at the start).
    """
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
    try:
        os.execve(start.path, list(start.command), dict(start.environment))
    except OSError as error:
        reason = _WHY.get(error.errno or 0, error.strerror or str(error))
        raise ToolError(
            f"{_shown(start.command[0])} could not be started: {reason}", id="command-not-started"
        ) from error


def open_files() -> tuple[int, int]:
    """This process' limit of open files, to be given back by `take_place`."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)
