"""A run size by size: one table per view and op, base first, then each candidate with its quantiles, ratio and verdict.

Times are medians over launches of what each launch's cell holds; ratios and verdicts are the verdict document's. Blocks
that were disturbed, launches that failed and the proof round count for nothing here. It judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from fabricdoc.model.bandwidth import bandwidth
from fabricdoc.model.run import Cell, Run
from fabricdoc.model.verdict import CellVerdict, Verdict
from fabricdoc.report.cells import BOLD, DIM, Column, Name, Words, line, table
from fabricdoc.report.text import counted, micros_text, size_text
from fabricdoc.report.verdict import STYLES, interval_text

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST = 3
"""Candidates shown beside base where nobody asked for all."""


class Group(NamedTuple):
    """What one table is about."""

    view: str
    op: str
    dtype: str
    in_place: bool


class Summary(NamedTuple):
    """A candidate at one size: medians over its launches, in µs."""

    median: float
    p95: float
    p99: float


def render_sizes(run: Run, verdict: Verdict | None = None, names: Sequence[str] = ()) -> list[RenderableType]:
    """A table for every view, op, type and place that was measured; `names` are the candidates shown (none: all)."""
    base = next((one.name for one in run.plan.candidates if one.role == "base"), "base")
    wanted = [one.name for one in run.plan.candidates if one.name != base and (not names or one.name in names)]
    groups = _grouped(run)
    order: dict[str, int] = {view: at for at, view in enumerate(run.plan.views)}
    parts: list[RenderableType] = []
    for group in sorted(groups, key=lambda one: (order.get(one.view, len(order)), one)):
        sizes = groups[group]
        rows = [row for size in sorted(sizes) for row in _rows(run, group, size, sizes[size], base, wanted, verdict)]
        parts += [line(), line((_title(group), BOLD), (", µs, ratio above 1 is faster", DIM)), _table(group, rows)]
    left = [one.name for one in run.plan.candidates if one.name not in (base, *wanted)]
    if left and parts:
        hint = f"{counted(len(left), 'more candidate')}: fabricdoc runs show {run.id} --sizes"
        parts += [line((hint, DIM))]
    return parts


def telling(run: Run, verdict: Verdict) -> tuple[str, ...]:
    """The candidates worth showing beside base: the chosen one, the user's current, then the best by score."""
    scored = sorted(
        (one for one in verdict.candidates if one.score is not None),
        key=lambda one: one.score.ratio if one.score else 0.0,
        reverse=True,
    )
    first = [verdict.choice, *(one.name for one in run.plan.candidates if one.role == "current")]
    names = dict.fromkeys([*first, *(one.name for one in scored)])
    return tuple(name for name in names if name != "base")[:MOST]


def _title(group: Group) -> str:
    place = "" if group.in_place else ", out of place"
    return f"{group.view}: {group.op} {group.dtype}{place}"


def _grouped(run: Run) -> dict[Group, dict[int, dict[str, list[Cell]]]]:
    """Cells by table, size and candidate, of launches that count."""
    found: dict[Group, dict[int, dict[str, list[Cell]]]] = {}
    spoilt = {(one.round, one.block) for one in run.launches if one.disturbed}
    for launch in run.launches:
        if launch.status != "ok" or launch.round == "proof" or (launch.round, launch.block) in spoilt:
            continue
        for cell in launch.cells:
            group = Group(cell.view, cell.op, cell.dtype, cell.in_place)
            by_name = found.setdefault(group, {}).setdefault(cell.size, {})
            by_name.setdefault(launch.candidate, []).append(cell)
    return found


def _rows(
    run: Run,
    group: Group,
    size: int,
    cells: Mapping[str, Sequence[Cell]],
    base: str,
    names: Sequence[str],
    verdict: Verdict | None,
) -> Iterator[list[Words | RenderableType]]:
    """Base, then the candidates that have this size; the size is named once."""
    said = size_text(size)
    for name in (base, *names):
        if name not in cells:
            continue
        one = _summary(cells[name])
        compared = _compared(verdict, name, group, size)
        yield [
            said,
            Name(name, DIM if name == base else ""),
            micros_text(one.median),
            micros_text(one.p95),
            micros_text(one.p99),
            *_speeds(run, group, size, one.median),
            interval_text(compared.interval) if compared else "",
            (compared.verdict, STYLES[compared.verdict]) if compared else "",
        ]
        said = ""


def _summary(cells: Sequence[Cell]) -> Summary:
    return Summary(
        median(cell.median_us for cell in cells),
        median(cell.p95_us for cell in cells),
        median(cell.p99_us for cell in cells),
    )


def _compared(verdict: Verdict | None, name: str, group: Group, size: int) -> CellVerdict | None:
    if verdict is None:
        return None
    cells = (cell for one in verdict.candidates if one.name == name for cell in one.cells)
    key = (group.view, group.op, size, group.dtype, group.in_place)
    return next((c for c in cells if (c.view, c.op, c.size, c.dtype, c.in_place) == key), None)


def _speeds(run: Run, group: Group, size: int, micros: float) -> list[Words]:
    """Algorithm and bus bandwidth in GB/s, where the view is about them."""
    if group.view != "throughput":
        return []
    try:
        speeds = bandwidth(group.op, size, len(run.plan.ranks), micros)  # type: ignore[arg-type]
    except ValueError:
        return ["-", "-"]
    return [f"{speeds.algbw:.3g}", f"{speeds.busbw:.3g}"]


def _table(group: Group, rows: Sequence[Sequence[Words | RenderableType]]) -> RenderableType:
    speeds = [Column("algbw", right=True, drop=4), Column("busbw GB/s", right=True)]
    columns = [
        Column("size", right=True),
        Column("candidate", flex=True),
        Column("median", right=True),
        Column("p95", right=True, drop=2),
        Column("p99", right=True, drop=3),
        *(speeds if group.view == "throughput" else []),
        Column("ratio"),
        Column("verdict", drop=1),
    ]
    return table(columns, rows)
