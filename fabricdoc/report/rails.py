"""The answer to `--both-nics`: is one port enough for decode, for prefill? Two verdicts, and what each port carried.

Bytes are those the port counters moved by while a candidate's launches ran; where none were read, that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.run import Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.report.cells import BOLD, DIM, Column, Name, Words, indent, line, table
from fabricdoc.report.text import percent_text
from fabricdoc.report.verdict import STYLES, interval_text

if TYPE_CHECKING:
    from rich.console import RenderableType

EVERY = ("both-nics", "all-nics")


def render_rails(run: Run, verdicts: Sequence[Verdict]) -> list[RenderableType]:
    """A verdict per objective on all rails and on each other single one, then the split; [] where none was weighed."""
    names = [one.name for one in run.plan.candidates if one.set_name == "both-nics"]
    if not names:
        return []
    columns = [Column("for", flex=False), Column("candidate", flex=True), Column("verdict"), Column("score")]
    rows: list[list[Words | RenderableType]] = []
    told: list[RenderableType] = []
    for verdict in verdicts:
        said: str = verdict.objective
        for one in (c for name in names for c in verdict.candidates if c.name == name):
            rows.append([said, Name(one.name), (one.verdict, STYLES[one.verdict]), interval_text(one.score)])
            said = ""
            if one.name in EVERY:
                told.append(indent(line((f"{verdict.objective}: ", BOLD), one.reason)))
    head = line(("one port or all", BOLD), (", base is the best single one, a score above 1 is faster", DIM))
    return [head, table(columns, rows), *told, *_splits(run, names), line()]


def _splits(run: Run, names: Sequence[str]) -> list[RenderableType]:
    """What each port carried under base and under all rails."""
    base = [one.name for one in run.plan.candidates if one.role == "base"]
    shown = [name for name in (*base, *names) if name in (*base, *EVERY)]
    lines = [line((f"{name} carried ", DIM), text) for name in shown for text in _split(run, name)]
    if lines:
        return [*map(indent, lines)]
    return [indent(line(("the split over ports is unknown: no byte counters were read", DIM)))]


def _split(run: Run, name: str) -> list[str]:
    """`alpha: rocep1s0f0/1 51 %, roceP2p1s0f0/1 49 %` for every node whose counters moved."""
    carried: dict[str, dict[str, int]] = {}
    for launch in run.launches:
        for state in launch.states if launch.candidate == name and launch.status == "ok" else ():
            for port, (sent, received) in state.port_bytes.items():
                ports = carried.setdefault(state.node, {})
                ports[port] = ports.get(port, 0) + max(0, sent) + max(0, received)
    told = []
    for node, ports in carried.items():
        total = sum(ports.values())
        if total:
            shares = ", ".join(
                f"{port} {percent_text(moved / total)}" for port, moved in sorted(ports.items()) if moved
            )
            told.append(f"{node}: {shares}")
    return told
