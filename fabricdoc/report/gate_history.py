"""The history of gates as a list: when, for which preset and nodes, how deep, and the answer.

Each item comes from the store; only its shape is known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricdoc.report.cells import BOLD, Column, Name, Words, line, table
from fabricdoc.report.gate import ANSWERS
from fabricdoc.report.lists import none_stored

if TYPE_CHECKING:
    from rich.console import RenderableType

KEYS = ("id", "created", "preset", "level", "answer", "reason", "nodes", "seconds")


def render_gates(gates: Sequence[Any], store: Path | None = None) -> list[RenderableType]:
    """A table of gates in the order given; why one refused stands below it. `store`: the file that was looked at."""
    if not gates:
        return [none_stored("gate", "kept", store)]
    columns = [
        Column("gate"),
        Column("answer"),
        Column("level", drop=2),
        Column("preset", flex=True, drop=1),
        Column("nodes", flex=True, drop=3),
        Column("s", right=True, drop=4),
    ]
    refused = [line(f"{one.id}: {one.reason}") for one in gates if one.answer != "go"][:MOST_REASONS]
    return [table(columns, [_row(one) for one in gates], by=0), *([line(), *refused] if refused else [])]


MOST_REASONS = 10


def gates_payload(gates: Sequence[Any]) -> list[dict[str, Any]]:
    """The same as JSON values."""
    return [{key: getattr(one, key) for key in KEYS} for one in gates]


def _row(one: Any) -> list[Words | RenderableType]:
    answer = ANSWERS.get(one.answer, (one.answer, ""))
    return [
        (one.id, BOLD),
        answer,
        one.level,
        Name(one.preset or "-"),
        Name(", ".join(one.nodes)),
        f"{one.seconds:.1f}",
    ]
