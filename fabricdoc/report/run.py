"""A run for people: its plan, how many launches of each candidate worked, the noise of base, what failed.

Shows medians of what was stored. It gives no verdict: that is the verdict document's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from fabricdoc.model.reasons import plain_reason, without_sources
from fabricdoc.model.run import Cell, Launch, Plan, Run, Shape
from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Column, Name, Words, indent, labelled, line, table
from fabricdoc.report.plan import not_offered, plan_line, render_planned
from fabricdoc.report.text import counted, micros_text, percent_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

STATUS = {"complete": GOOD, "running": WARN, "interrupted": WARN, "failed": BAD}
MOST_FAILURES = 5
LOG_LINES = 3
CellKey = tuple[str, str, int]


def render_run(run: Run, *, planned: bool = False) -> list[RenderableType]:
    """The whole run; `planned` is one that was only planned (`bench --dry-run`): it has no id to be found by."""
    if planned:
        return [labelled("run", ("planned, nothing was started", WARN)), *render_planned(run.plan)]
    reason = f": {run.reason}" if run.reason else ""
    head = labelled("run", (run.id, BOLD), "  ", (f"{run.status}{reason}", STATUS[run.status]))
    if not run.launches:
        return [head, plan_line(run.plan), line("no launch yet")]
    parts = [_launches(run), *_noise(run), *not_offered(run.plan), *_failures(run)]
    return [head, plan_line(run.plan), line(), *parts]


def key_cell(plan: Plan) -> CellKey:
    """(view, op, size) that stands for the run: the decode size sent most often, else the middle one; first view."""
    view = plan.views[0] if plan.views else "eager"
    if not plan.shapes:
        return (view, "all_reduce", 0)
    decode = [shape for shape in plan.shapes if shape.phase == "decode"]
    shape: Shape = max(decode, key=lambda one: one.count) if decode else plan.shapes[len(plan.shapes) // 2]
    return (view, shape.op, shape.size)


def base_noise(run: Run) -> dict[CellKey, float]:
    """Per cell, how far base's launches lie apart: (slowest - fastest) / median of their medians."""
    names = {candidate.name for candidate in run.plan.candidates if candidate.role == "base"}
    medians: dict[CellKey, list[float]] = defaultdict(list)
    for launch in run.launches:
        if launch.candidate in names and launch.status == "ok" and launch.round != "proof":
            for cell in launch.cells:
                medians[_key(cell)].append(cell.median_us)
    return {key: (max(values) - min(values)) / median(values) for key, values in medians.items() if _spread(values)}


def _spread(values: Sequence[float]) -> bool:
    return len(values) > 1 and median(values) > 0


def _key(cell: Cell) -> CellKey:
    return (cell.view, cell.op, cell.size)


def _launches(run: Run) -> RenderableType:
    key = key_cell(run.plan)
    proven = any(one.proof is not None and one.proof.grade != "none" for one in run.launches)
    columns = [
        Column("candidate", flex=True),
        Column("launches ok", right=True),
        Column("failed", right=True),
        Column(f"{cell_text(key)}, µs", right=True),
        *([Column("proof of path", drop=1)] if proven else []),
    ]
    names = list(dict.fromkeys([c.name for c in run.plan.candidates] + [one.candidate for one in run.launches]))
    return table(columns, [_candidate_row(run, name, key, proven) for name in names])


def _candidate_row(run: Run, name: str, key: CellKey, proven: bool) -> list[Words | RenderableType]:
    """One candidate; `proven` adds how well its path is proven (gloo says nothing of it)."""
    launches = [launch for launch in run.launches if launch.candidate == name]
    ok = [launch for launch in launches if launch.status == "ok"]
    bad = len(launches) - len(ok)
    times = [c.median_us for one in ok if one.round != "proof" for c in one.cells if _key(c) == key]
    grades = [launch.proof.grade for launch in launches if launch.proof is not None]
    best = next((grade for grade in ("seen", "echoed", "none") if grade in grades), "-")
    return [
        Name(name),
        (str(len(ok)), GOOD if ok else DIM),
        (str(bad), BAD if bad else DIM),
        micros_text(median(times)) if times else "-",
        *([best] if proven else []),
    ]


def cell_text(key: CellKey) -> str:
    """`all_reduce 20 KiB graph`."""
    view, op, size = key
    return f"{op} {size_text(size)} {view}"


def _noise(run: Run) -> list[RenderableType]:
    noise = base_noise(run)
    if not noise:
        return [labelled("noise", "unknown: base has fewer than two good launches")]
    worst = max(noise, key=lambda key: noise[key])
    return [
        labelled(
            "noise",
            f"base's launches lie {percent_text(median(noise.values()))} apart in the median cell, ",
            f"{percent_text(noise[worst])} in the worst ({cell_text(worst)})",
        )
    ]


def _failures(run: Run) -> list[RenderableType]:
    failed = [launch for launch in run.launches if launch.status != "ok"]
    parts = [piece for launch in failed[:MOST_FAILURES] for piece in _failure(launch, _variables(run, launch))]
    left = len(failed) - MOST_FAILURES
    more = [line((f"and {counted(left, 'more failed launch', 'more failed launches')} (--json shows all)", DIM))]
    return [*([line()] if failed else []), *parts, *(more if left > 0 else [])]


def _variables(run: Run, launch: Launch) -> set[str]:
    """The names of all variables that the launch's set gave any rank; base's too where it is laid over them."""
    sets = [c for c in run.plan.candidates if c.name == launch.candidate]
    sets += [c for c in run.plan.candidates if c.role == "base" and any(one.on_base for one in sets)]
    return {name for one in sets for given in (one.variables, *one.node_variables.values()) for name in given}


def _failure(launch: Launch, variables: set[str]) -> list[RenderableType]:
    """What failed, once: the log's last words only where the reason is not among them already."""
    reason = plain_reason(launch.reason, variables)
    where = f" in {launch.phase}" if launch.phase else ""
    rank = f", rank {launch.rank}" if launch.rank is not None else ""
    head = line(
        (f"launch {launch.number} ", BOLD),
        f"({launch.candidate}, {launch.round} block {launch.block}): ",
        (f"{launch.status}{where}{rank}", WARN if launch.status == "interrupted" else BAD),
        f": {reason}" if reason else "",
    )
    told = {" ".join(text.split()) for text in launch.reason.splitlines()[:1]}
    if told & {" ".join(text.split()) for text in launch.log_tail}:
        return [head]
    return [head, *(indent(line((without_sources(text), DIM)), 4) for text in launch.log_tail[-LOG_LINES:])]
