"""A stored run written as CSV, JSON or Parquet: the tables of `rows`, one file each.

CSV and JSON are text and need nothing; Parquet needs pyarrow. JSON is one document with its columns named; text of a
cell that a spreadsheet would take for a formula is kept as it is (it is data, not a sheet).
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from fabricdoc import __version__
from fabricdoc.data.frames import library, stored_verdict
from fabricdoc.data.rows import Row, cell_rows, launch_rows, sample_rows, verdict_rows
from fabricdoc.errors import ToolError, UsageError
from fabricdoc.model.documents import utc_now
from fabricdoc.model.run import Run
from fabricdoc.store import RunStore

Rows = Callable[[RunStore, Run], Iterable[Row]]
TABLES: Mapping[str, Rows] = {
    "cells": lambda store, run: cell_rows(run),
    "launches": lambda store, run: launch_rows(run),
    "samples": sample_rows,
    "verdicts": lambda store, run: verdict_rows(stored_verdict(store, run.id)),
}
WHAT = tuple(TABLES)
FORMATS = ("csv", "json", "parquet")
BATCH = 50_000
"""Rows of a Parquet row group: what is held in memory at once."""


def export_run(store: RunStore, run_id: str | None, what: str, form: str, path: Path | None) -> str:
    """Write one table of a run to `path`, or give it back as text where there is none ("" once it is written).

    UsageError for a table or format there is not, and for Parquet without a file; ToolError where pyarrow is missing
    or the file can't be written.
    """
    if what not in TABLES:
        raise UsageError(f"there is no table {what!r}", fix=f"choose one of {', '.join(WHAT)}")
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}", fix=f"choose one of {', '.join(FORMATS)}")
    if form == "parquet" and path is None:
        raise UsageError("Parquet is no text", fix="name a file: -o FILE.parquet")
    run = store.load(run_id)
    rows = TABLES[what](store, run)
    try:
        if form == "parquet" and path is not None:
            _write_parquet(rows, path)
            return ""
        text = _csv(rows) if form == "csv" else _json(rows, run, what)
        if path is None:
            return text
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise ToolError(f"can't write {path}: {error.strerror or error}", fix="name another file with -o") from error
    return ""


def _csv(rows: Iterable[Row]) -> str:
    """A header and a line per row (RFC 4180, line ends as Unix); tuples as JSON, None as nothing."""
    stream = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(stream, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return stream.getvalue()


def _json(rows: Iterable[Row], run: Run, what: str) -> str:
    """One document: what it is, the columns, then the rows as lists in that order."""
    listed = list(rows)
    columns = list(listed[0]) if listed else []
    head = {"schema": "fabricdoc/rows/1", "fabricdoc": __version__, "created": utc_now(), "run": run.id, "table": what}
    lines = (json.dumps([row[name] for name in columns], allow_nan=False) for row in listed)
    body = ",\n".join(lines)
    start = json.dumps({**head, "columns": columns})[:-1]
    return f'{start}, "rows": [\n{body}\n]}}\n'


def _write_parquet(rows: Iterable[Row], path: Path) -> None:
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    iterator = iter(rows)
    first = list(itertools.islice(iterator, BATCH))
    table = arrow.Table.from_pylist(first)
    schema = _without_nulls(arrow, table.schema)
    with parquet.ParquetWriter(path, schema) as writer:
        while first:
            writer.write_table(arrow.Table.from_pylist(first, schema=schema))
            first = list(itertools.islice(iterator, BATCH))


def _without_nulls(arrow: object, schema: Sequence[object]) -> object:
    """A column that holds nothing in the first rows is text: Parquet has no column without a type."""
    text = arrow.string()  # type: ignore[attr-defined]
    fields = [one.with_type(text) if str(one.type) == "null" else one for one in schema]  # type: ignore[attr-defined]
    return arrow.schema(fields)  # type: ignore[attr-defined]
