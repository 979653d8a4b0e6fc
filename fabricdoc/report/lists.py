"""Lists for people: stored runs, known profiles, standing labs.

Each item comes from another room; only its shape is known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Column, Name, Words, indent, line, table
from fabricdoc.report.text import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

RUN_KEYS = ("id", "created", "status", "backend", "nodes", "launches", "choice")
STATUS = {"complete": GOOD, "running": WARN, "interrupted": WARN, "failed": BAD, "killed": BAD}


def render_runs(runs: Sequence[Any], store: Path | None = None) -> list[RenderableType]:
    """A table of runs in the order given; each has id, created, status, backend, nodes, launches and choice.

    Where there is none, `store` is the file that was looked at.
    """
    if not runs:
        return [none_stored("run", "stored", store)]
    columns = [
        Column("run"),
        Column("status"),
        Column("backend", drop=3),
        Column("nodes", flex=True, drop=2),
        Column("launches", right=True, drop=4),
        Column("choice", flex=True, drop=1),
    ]
    return [table(columns, [_run_row(run) for run in runs], by=0)]


def none_stored(what: str, done: str, store: Path | None) -> RenderableType:
    """`no run is stored yet in FILE`; a file that is not there may be a typo, and is said to be none."""
    if store is None:
        return line(f"no {what} is {done} yet")
    if not store.exists():
        return line(f"no {what} is {done} yet: there is no file ", str(store))
    return line(f"no {what} is {done} yet in ", str(store))


def runs_payload(runs: Sequence[Any]) -> list[dict[str, Any]]:
    """The same as JSON values."""
    return [{key: getattr(run, key) for key in RUN_KEYS} for run in runs]


def _run_row(run: Any) -> list[Words | RenderableType]:
    return [
        (run.id, BOLD),
        (run.status, STATUS.get(run.status, "")),
        run.backend,
        Name(", ".join(run.nodes)),
        str(run.launches),
        Name(run.choice or "-"),
    ]


def render_profiles(profiles: Sequence[Any]) -> list[RenderableType]:
    """A table of profiles in the order given: what a decode step of each sends, and what it is."""
    columns = [Column("profile", flex=True), Column("calls a step", right=True), Column("of", flex=True, drop=1)]
    rows: list[list[Words | RenderableType]] = [
        [(one.name, BOLD), str(one.decode.totals.collectives), one.summary] for one in profiles
    ]
    return [table(columns, rows, by=0)]


def profiles_payload(profiles: Sequence[Any]) -> list[dict[str, Any]]:
    """The same as JSON values, with both stages' totals."""
    return [
        {
            "name": one.name,
            "summary": one.summary,
            "engine": one.engine,
            "decode": one.decode.totals.model_dump(),
            "prefill": one.prefill.totals.model_dump(),
        }
        for one in profiles
    ]


def render_formats(formats: Sequence[tuple[str, str, str]]) -> list[RenderableType]:
    """A table of export formats: name, what one text holds, who reads it."""
    columns = [Column("format"), Column("one text holds", drop=1), Column("read by", flex=True)]
    rows: list[list[Words | RenderableType]] = [[(name, BOLD), holds, readers] for name, holds, readers in formats]
    return [table(columns, rows, by=0)]


def formats_payload(formats: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    """The same as JSON values."""
    return [{"name": name, "holds": holds, "readers": readers} for name, holds, readers in formats]


def render_labs(labs: Sequence[Any], *, removed: bool = False) -> list[RenderableType]:
    """Every lab (name, nodes) with its nodes (name, target, ports); only the names of removed ones."""
    if not labs:
        return [line("no lab is up")]
    if removed:
        return [line("removed lab ", (lab.name, BOLD)) for lab in labs]
    parts: list[RenderableType] = []
    columns = [Column("node", flex=True), Column("target"), Column("ports", flex=True)]
    for lab in labs:
        rows: list[list[Words | RenderableType]] = [
            [Name(node.name), node.target, ", ".join(node.ports)] for node in lab.nodes
        ]
        parts += [line(("lab ", BOLD), (lab.name, BOLD)), table(columns, rows)]
    return parts


def render_written(paths: Sequence[Path]) -> list[RenderableType]:
    """The files a command left."""
    head = line((f"wrote {counted(len(paths), 'file')}", DIM))
    return [head, *(indent(line(str(path))) for path in paths)]
