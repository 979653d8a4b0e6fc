"""The layer budget of base: what one small all-reduce costs on the wire, in verbs, in NCCL and in torch.

Each row is a time or the reason why there is none; nothing is computed from a model. At 8 and 20 KB, the sizes that
decode sends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Run
from fabricdoc.report.cells import DIM, Column, Words, line, table
from fabricdoc.report.text import micros_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

SIZES = (8192, 20480)
ROUND_TRIP = re.compile(r"round trip (\d+(?:\.\d+)?) us")
NO_PING = "no RDMA ping passed over these links"
LARGER = re.compile(r"of (\d+) bytes (\d+(?:\.\d+)?) us")
HALF = "half of the RDMA ping's round trips: at most that, Python drives them"
SMALL = "half of the RDMA ping's round trip with 8 bytes; this one timed no larger message"


def render_layers(run: Run) -> list[RenderableType]:
    """One row per layer, from the wire up; nothing for a run in which no layer has a time."""
    rows = _rows(run) if run.launches else []
    if not any(_timed(row) for row in rows):
        return []
    columns = [
        Column("layer"),
        *(Column(f"{size_text(size)}, µs", right=True) for size in SIZES),
        Column("", flex=True),
    ]
    return [line(), line(("layer budget of base, all_reduce", DIM)), table(columns, rows)]


def _timed(row: Sequence[Words]) -> bool:
    """Whether a row tells a time: in its cells, or the ping's in its note."""
    return any(cell != "-" for cell in row[1 : 1 + len(SIZES)]) or (row[0] == "verbs" and row[-1] != NO_PING)


def _rows(run: Run) -> list[list[Words]]:
    gloo = run.plan.backend != "nccl"
    no_graph = "gloo has no CUDA graphs" if gloo else "not measured in this run"
    return [
        ["wire", "-", "-", "no instrument here times the wire alone: it is within the next row"],
        _verbs(run),
        _measured(run, "NCCL in a graph", "graph", "", no_graph),
        _own_calls(run),
        _through_torch(run),
    ]


def _own_calls(run: Run) -> list[Words]:
    """NCCL called by its own functions, where they were asked for."""
    if run.plan.backend != "nccl":
        return ["NCCL eager", "-", "-", "gloo is not NCCL"]
    if run.plan.path == "direct":
        return _measured(run, "NCCL eager", "eager", "", "not measured in this run")
    return _measured(run, "NCCL eager", "eager", "", "ask for NCCL's own calls with --path both", field="direct_us")


def _through_torch(run: Run) -> list[Words]:
    if run.plan.path == "direct":
        return ["torch eager", "-", "-", "this run called NCCL by its own functions alone (--path direct)"]
    return _measured(run, "torch eager", "eager", "torch's share included", "not measured in this run")


def _verbs(run: Run) -> list[Words]:
    """The RDMA ping's own time, where a link was proven by one."""
    links = () if isinstance(run.links, Unknown) else run.links
    proofs = (proof for link in links for proof in (link.proof, *link.more_proofs) if proof.method == "rdma-ping")
    details = [proof.detail for proof in proofs]
    larger = [(int(size), float(us)) for detail in details for size, us in LARGER.findall(detail)]
    times = [min((us / 2 for known, us in larger if known == size), default=None) for size in SIZES]
    if any(time is not None for time in times):
        return ["verbs", *(micros_text(time) if time is not None else "-" for time in times), HALF]
    trips = [float(found[1]) for detail in details if (found := ROUND_TRIP.search(detail))]
    if not trips:
        return ["verbs", "-", "-", NO_PING]
    return ["verbs", "-", "-", f"{micros_text(min(trips) / 2)} µs: {SMALL}"]


def _measured(run: Run, layer: str, view: str, note: str, missing: str, field: str = "median_us") -> list[Words]:
    """Base's median at each size, over its launches that count."""
    times = [median_of(run, view, size, field) for size in SIZES]
    if all(time is None for time in times):
        return [layer, "-", "-", missing]
    absent = [size_text(size) for size, time in zip(SIZES, times, strict=True) if time is None]
    told = ", ".join(filter(None, [note, f"{' and '.join(absent)} not measured" if absent else ""]))
    return [layer, *(micros_text(time) if time is not None else "-" for time in times), told]


def median_of(run: Run, view: str, size: int, field: str = "median_us") -> float | None:
    """The median of a field of base's all_reduce cells over launches that count, None where none has it."""
    base = {one.name for one in run.plan.candidates if one.role == "base"}
    found = [
        getattr(cell, field)
        for launch in run.launches
        if launch.candidate in base and launch.status == "ok" and launch.round != "proof" and not launch.disturbed
        for cell in launch.cells
        if (cell.view, cell.op, cell.size) == (view, "all_reduce", size)
    ]
    values = [value for value in found if value is not None]
    return median(values) if values else None
