"""A profile for people: which collectives one decode step and one prefill chunk of a served model send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.profile import Captured, Collective, Profile, Stage, StepTime
from fabricdoc.report.cells import BOLD, DIM, Column, Words, labelled, line, table
from fabricdoc.report.text import counted, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def render_profile(profile: Profile) -> list[RenderableType]:
    """The whole profile."""
    head = labelled("profile", (profile.name, BOLD), f"  {profile.summary}")
    stages = (("one decode step", profile.decode), ("one prefill chunk", profile.prefill))
    parts = [piece for title, stage in stages for piece in (line(), *_stage(title, stage))]
    captured = [line(), *_captured(profile.captured)] if profile.captured else []
    return [head, *parts, *captured, line(), *_footing(profile)]


def _footing(profile: Profile) -> list[RenderableType]:
    known = [] if profile.step is None else [labelled("step", _step(profile.step))]
    notes = [labelled("note", note) for note in profile.notes]
    return [*known, labelled("source", profile.source), *notes]


def _step(step: StepTime) -> str:
    tokens = "1 token" if step.tokens == 1 else f"{step.tokens:g} tokens"
    return f"{step.compute_ms:g} ms without communication, {tokens} a step"


def _stage(title: str, stage: Stage) -> list[RenderableType]:
    rows = f" of {counted(stage.rows, 'row')}" if stage.rows else ""  # a trace alone does not tell them
    head = line((title, BOLD), f"{rows}: {_sums(stage)}")
    columns = [
        Column("role", flex=True),
        Column("op"),
        Column("calls", right=True),
        Column("size", right=True),
        Column("type", drop=1),
        Column("graph", drop=3),
        Column("carried by", drop=2),
        Column("counts", drop=4),
    ]
    if all(_carried(one) == "NCCL" for one in stage.collectives):
        columns = [column for column in columns if column.header != "carried by"]
    wanted = [column.header for column in columns]
    cells = [[cell for name, cell in _row(one).items() if name in wanted] for one in stage.collectives]
    return [head, *([table(columns, cells)] if cells else [])]


def _sums(stage: Stage) -> str:
    totals = stage.totals
    said = [
        f"{counted(totals.all_reduce, 'all-reduce')} ({size_text(totals.all_reduce_bytes)})",
        f"{counted(totals.all_gather, 'all-gather')} ({size_text(totals.all_gather_bytes)})",
    ]
    others = totals.collectives - totals.all_reduce - totals.all_gather
    return ", ".join([*said, *([f"{others} of other ops"] if others else [])])


def _row(one: Collective) -> dict[str, Words | RenderableType]:
    return {
        "role": one.role,
        "op": one.op,
        "calls": str(one.count),
        "size": size_text(one.size),
        "type": one.dtype,
        "graph": "yes" if one.in_graph else "no",
        "carried by": _carried(one),
        "counts": one.confidence,
    }


def _carried(one: Collective) -> str:
    if one.bypass != "none":
        return one.bypass
    return "NCCL" if one.spans_nodes else "NCCL in a node"


def _captured(stages: tuple[Captured, ...]) -> list[RenderableType]:
    head = line(("captured batches", BOLD), (" (a verdict asks every one)", DIM))
    columns = [Column("batch", right=True), Column("rows", right=True), Column("calls", right=True),
               Column("all-reduce bytes", right=True), Column("all-gather bytes", right=True)]  # fmt: skip
    return [head, table(columns, [_captured_row(stage) for stage in stages])]


def _captured_row(stage: Captured) -> list[Words | RenderableType]:
    totals = stage.totals
    calls = [str(stage.batch), str(stage.rows), str(totals.collectives)]
    return [*calls, size_text(totals.all_reduce_bytes), size_text(totals.all_gather_bytes)]
