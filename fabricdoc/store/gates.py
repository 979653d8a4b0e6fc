"""The history of gates in the store: each kept whole, the newest thousand; listed, and the last one of some nodes.

The table is made with the first gate; a store without it has none. Judges nothing.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from fabricdoc.errors import InputError
from fabricdoc.model.gate import Gate
from fabricdoc.store import database
from fabricdoc.store.place import default_path

MOST_KEPT = 1000
_TABLE = """CREATE TABLE IF NOT EXISTS gates (
        serial INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, created TEXT NOT NULL, preset TEXT NOT NULL,
        level TEXT NOT NULL, answer TEXT NOT NULL, reason TEXT NOT NULL, nodes TEXT NOT NULL, seconds REAL NOT NULL,
        document TEXT NOT NULL
    )"""


class GateSummary(NamedTuple):
    """One line of the history."""

    id: str
    created: str
    preset: str
    level: str
    answer: str
    reason: str
    nodes: tuple[str, ...]
    seconds: float


def new_gate_id() -> str:
    """A time and four random digits, as ids of runs are, with a "g" before them."""
    return f"g{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


def keep_gate(gate: Gate, path: Path | None = None) -> None:
    """Add a gate to the history, and forget what is older than the newest thousand. Raises StoreError."""
    path = default_path() if path is None else path
    row = (gate.id, gate.created, gate.preset, gate.level, gate.answer, gate.reason, json.dumps(gate.nodes))
    with closing(database.open_for_writing(path)) as connection, database.told(path):
        connection.execute("PRAGMA synchronous = NORMAL")  # a gate lost with the power is no harm, a slow gate is
        with database.transaction(connection):
            connection.execute(_TABLE)
            connection.execute(
                "INSERT INTO gates (id, created, preset, level, answer, reason, nodes, seconds, document)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, gate.seconds, gate.model_dump_json()),
            )
            connection.execute("DELETE FROM gates WHERE serial <= (SELECT max(serial) FROM gates) - ?", (MOST_KEPT,))


def list_gates(path: Path | None = None, most: int = MOST_KEPT) -> tuple[GateSummary, ...]:
    """The history, newest first. Raises StoreError or InputError."""
    columns = "id, created, preset, level, answer, reason, nodes, seconds"
    with _reading(path) as connection:
        rows = connection.execute(f"SELECT {columns} FROM gates ORDER BY serial DESC LIMIT ?", (most,)).fetchall()
    return tuple(_summary(*row) for row in rows)


def _summary(id: str, created: str, preset: str, *row: Any) -> GateSummary:
    level, answer, reason, nodes, seconds = row
    return GateSummary(id, created, preset, level, answer, reason, tuple(json.loads(nodes)), seconds)


def load_gate(id: str, path: Path | None = None) -> Gate | None:
    """The gate of that id, None where there is none or it can't be read any more."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT document FROM gates WHERE id = ?", (id,)).fetchall()
    return _read(rows[0][0]) if rows else None


def gate_named(id: str, path: Path | None = None) -> Gate:
    """As `load_gate`; InputError naming the newest where there is no such gate."""
    found = load_gate(id, path)
    if found is None:
        newest = ", ".join(one.id for one in list_gates(path, 3)) or "none is kept yet"
        raise InputError(f"{id[:60]!r} names no gate that can be read", fix=f"fabricdoc runs gates ({newest})")
    return found


def last_gate(nodes: Sequence[str], path: Path | None = None) -> Gate | None:
    """The newest gate of exactly these nodes."""
    with _reading(path) as connection:
        found = connection.execute(
            "SELECT document FROM gates WHERE nodes = ? ORDER BY serial DESC LIMIT 1", (json.dumps(list(nodes)),)
        ).fetchall()
    return _read(found[0][0]) if found else None


def _read(text: str) -> Gate | None:
    try:
        return Gate.model_validate_json(text)
    except ValueError:
        return None


@contextmanager
def _reading(path: Path | None) -> Iterator[Connection]:
    """The store, in which a table of gates is (an empty one in memory where the file has none)."""
    path = default_path() if path is None else path
    with closing(database.open_for_reading(path)) as connection, database.told(path):
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'gates'").fetchone()[0]
        if not tables:
            connection.execute("ATTACH ':memory:' AS empty")
            connection.execute(_TABLE.replace("EXISTS gates", "EXISTS empty.gates"))
        yield connection
