"""A profile for people: which collectives one decode step and one prefill chunk of a served model send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.model.profile import Collective, Profile, Stage
from fabricdoc.report.cells import BOLD, Column, Words, labelled, line, table
from fabricdoc.report.text import counted, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def render_profile(profile: Profile) -> list[RenderableType]:
    """The whole profile."""
    head = labelled("profile", (profile.name, BOLD), f"  {profile.summary}")
    stages = (("one decode step", profile.decode), ("one prefill chunk", profile.prefill))
    parts = [piece for title, stage in stages for piece in (line(), *_stage(title, stage))]
    return [head, *parts, line(), labelled("source", profile.source)]


def _stage(title: str, stage: Stage) -> list[RenderableType]:
    totals = stage.totals
    head = line(
        (title, BOLD),
        f" of {counted(stage.rows, 'row')}: {totals.all_reduce} all-reduces ({size_text(totals.all_reduce_bytes)}), ",
        f"{totals.all_gather} all-gathers ({size_text(totals.all_gather_bytes)})",
    )
    columns = [
        Column("role", flex=True),
        Column("op"),
        Column("calls", right=True),
        Column("size", right=True),
        Column("type", drop=1),
        Column("graph", drop=2),
        Column("counts", drop=3),
    ]
    return [head, *([table(columns, [_row(one) for one in stage.collectives])] if stage.collectives else [])]


def _row(one: Collective) -> list[Words | RenderableType]:
    graph = "yes" if one.in_graph else "no"
    return [one.role, one.op, str(one.count), size_text(one.size), one.dtype, graph, one.confidence]
