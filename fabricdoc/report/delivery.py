"""Whether a preset arrived, for people: the answer, the causes, then each variable; equal processes are shown once.

Judges nothing; `fabricdoc.export` did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.delivery import Delivered, Delivery, WorkerDelivery
from fabricdoc.model.documents import Unknown
from fabricdoc.report.cells import BAD, BOLD, DIM, GOOD, WARN, Column, Words, labelled, line, table
from fabricdoc.report.findings import render_findings

if TYPE_CHECKING:
    from rich.console import RenderableType

ANSWERS = {
    "delivered": ("delivered", "bold green"),
    "not-delivered": ("not delivered", BAD),
    "could-not-tell": ("could not tell", WARN),
}
OUTCOMES = {"delivered": GOOD, "left-out": DIM, "unknown": WARN, "missing": BAD, "differs": BAD, "overridden": BAD}
MOST_PIDS = 8


def render_delivery(delivery: Delivery) -> list[RenderableType]:
    """The whole answer."""
    head = line(ANSWERS[delivery.answer], f": preset {delivery.preset}: {delivery.reason}")
    causes = [finding.model_copy(update={"evidence": ()}) for finding in delivery.findings]
    parts: list[RenderableType] = [head, *([line(), *render_findings(causes)] if causes else [])]
    for workers in _alike(delivery.workers):
        parts += [
            line(),
            _title(workers),
            *_library(workers[0]),
            table(_COLUMNS, [_row(v) for v in workers[0].variables]),
        ]
    parts += [labelled(one.node, (f"not seen: {one.reason}", WARN)) for one in delivery.unseen]
    return parts


_COLUMNS = [
    Column("variable"),
    Column("wanted", flex=True),
    Column("seen", flex=True),
    Column("in", flex=True),
    Column(""),
]


def _alike(workers: Sequence[WorkerDelivery]) -> list[list[WorkerDelivery]]:
    """Processes of a node with the same variables together."""
    groups: dict[tuple[str, tuple[Delivered, ...]], list[WorkerDelivery]] = {}
    for one in workers:
        groups.setdefault((one.node, one.variables), []).append(one)
    return list(groups.values())


def _title(workers: Sequence[WorkerDelivery]) -> RenderableType:
    pids = [str(one.pid) for one in workers if one.pid is not None]
    shown = ", ".join(pids[:MOST_PIDS]) + (", ..." if len(pids) > MOST_PIDS else "")
    named = f"  pid {shown}" if pids else ""
    count = f"  {len(workers)} processes" if len(workers) > 1 else f"  {workers[0].name}"
    return line((workers[0].node or "a host of the log", BOLD), named, (count, DIM))


def _library(one: WorkerDelivery) -> list[RenderableType]:
    """Where NCCL is not loaded, that is said: the process may be none that serves."""
    if one.library is None:
        return [line(("  it has no NCCL loaded (yet)", WARN))]
    return (
        []
        if isinstance(one.library, str) or one.library.unknown == "not read"
        else [line((f"  whether NCCL is loaded is unknown: {one.library.unknown}", WARN))]
    )


def _row(one: Delivered) -> list[Words | RenderableType]:
    seen = "not set" if one.seen is None else f"? {one.seen.unknown}" if isinstance(one.seen, Unknown) else one.seen
    return [one.name, one.wanted, seen, one.by, (one.outcome, OUTCOMES[one.outcome])]
