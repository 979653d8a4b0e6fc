"""The variables of one candidate, checked: known, written as NCCL reads them, safe, and equal where ranks must agree.

Whether the loaded NCCL reads them (not yet, no more) is checked when that library is known (`ground`). An error names
the variable; the caller adds the file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fabricdoc.nccl import catalogue, must_agree, nearest, reject_unsafe

AT_LOAD = ("LD_PRELOAD", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES")
"""Read by the loader, or when torch is imported: a set with one of them needs an agent of its own."""
AT_START = ("CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_LAUNCH_BLOCKING")
"""Read when a process first uses the GPU: no variables of NCCL, but they change what a server's calls cost."""
UNSET = "(unset)"


class BadVariable(ValueError):
    """A variable that can't be taken: its name, and what would be right where that is known."""

    def __init__(self, name: str, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.fix = fix


def checked(table: object) -> dict[str, str]:
    """The variables of a TOML table as text, each known and none unsafe; whole numbers may be written without quotes.

    Raises BadVariable.
    """
    if not isinstance(table, dict):
        raise BadVariable("variables", "variables must be a table")
    variables = {name: _text(name, value) for name, value in table.items()}
    for name, value in variables.items():
        if reason := reject_unsafe({name: value}):
            raise BadVariable(name, reason)
    return variables


def _text(name: str, value: object) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise BadVariable(name, f"{name} must be text or a whole number")
    if name not in catalogue() and name not in (*AT_LOAD, *AT_START):
        near = nearest(name)
        raise BadVariable(
            name, f"no variable {name} is known", fix=f"did you mean {' or '.join(near)}?" if near else ""
        )
    return str(value)


def needs_fresh_agent(names: Iterable[str]) -> bool:
    """Whether one of these is read before a rank is forked."""
    return any(name in AT_LOAD for name in names)


def unequal(common: Mapping[str, str], nodes: Mapping[str, Mapping[str, str]]) -> tuple[str, str] | None:
    """A variable that must agree across ranks (the catalogue says) but differs between `nodes`: (name, the values).

    A node's own value wins over the common one; None where all agree.
    """
    for name in sorted({name for own in nodes.values() for name in own}):
        if not must_agree(name):
            continue
        values = {node: own.get(name, common.get(name, UNSET)) for node, own in nodes.items()}
        if len(set(values.values())) > 1:
            return name, ", ".join(f"{value} on {node}" for node, value in values.items())
    return None
