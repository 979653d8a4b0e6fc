"""Labs that outlive the command that made them: up, down, list.

A standing lab is a holder on its own feet plus a state file. Only labs of this user are seen, and only a
process with the recorded pid and start time is ever ended; programs a user runs inside a node are not ours.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.lab.opening import END_S, HolderProcess, nodes_of
from fabricdoc.lab.processes import boot_id, end_process
from fabricdoc.lab.spec import LabSpec, LabState, check_name
from fabricdoc.lab.state import live_states, state_folder, state_path, write_state

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fabricdoc.lab.model import LabDocument


def lab_up(spec: LabSpec | None = None, name: str = "lab") -> LabState:
    """Make a lab that stands until `lab_down`, the end of its holder, or the loss of its state file.

    Raises UsageError if `name` can't be used or a lab of that name stands; ToolError if it can't be made.
    """
    spec = spec or LabSpec()
    check_name(name, "lab name")
    folder = state_folder()
    if any(state.name == name for state in live_states(folder)):
        raise _already_up(name)
    with HolderProcess(parent=0) as holder:
        state = _state(name, spec, holder.bring_up(spec))
        if not write_state(folder, state):
            raise _already_up(name)
        holder.keep(state_path(folder, name))
    return state


def _already_up(name: str) -> UsageError:
    fix = f"`fabricdoc lab down --name {name}`, or give the new one another --name"
    return UsageError(f"a lab named {name} is up already", fix=fix)


def _state(name: str, spec: LabSpec, answer: dict[str, Any]) -> LabState:
    return LabState(
        name=name,
        pid=answer["holder"],
        start=answer["start"],
        boot=boot_id(),
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        spec=spec,
        nodes=nodes_of(answer),
    )


def lab_down(name: str | None = None) -> tuple[LabState, ...]:
    """End the lab `name`, or all of this user's labs; returns those it ended.

    Raises UsageError if no lab of that name stands; ToolError if its holder won't end.
    """
    folder = state_folder()
    states = live_states(folder)
    if name is not None:
        check_name(name, "lab name")
        states = tuple(state for state in states if state.name == name) or _not_up(name, states, folder)
    for state in states:
        _end(state)
        state_path(folder, state.name).unlink(missing_ok=True)
    return states


def _not_up(name: str, states: Iterable[LabState], folder: Path) -> tuple[LabState, ...]:
    file = state_path(folder, name)
    if file.exists():
        fix = f"use that version, or end it: rm {shlex.quote(str(file))}"
        raise UsageError(f"lab {name} was made by another version of fabricdoc", fix=fix)
    names = ", ".join(state.name for state in states)
    raise UsageError(f"no lab named {name} is up", fix=f"labs that are up: {names or 'none'}")


def _end(state: LabState) -> None:
    try:
        ended = end_process(state.pid, state.start, wait_s=END_S)
    except PermissionError:
        ended = False
    if not ended:
        raise ToolError(
            f"the holder of lab {state.name} (pid {state.pid}) did not end",
            fix=f"look at it: `ps -o pid,user,stat,wchan,cmd -p {state.pid}`",
            id="lab-failed",
        )


def lab_list() -> tuple[LabState, ...]:
    """This user's standing labs, by name; state files of labs that are gone are removed."""
    return live_states(state_folder())


def lab_document(states: Iterable[LabState]) -> LabDocument:
    """The `lab` document (schema fabricdoc/lab/1) of some labs."""
    from fabricdoc.lab.model import LabDocument

    return LabDocument(labs=tuple(states))
