"""The same tables as pandas DataFrames, read from the store a command would read. Needs the `data` extra.

Each function opens the store for reading, and closes it. `run` is a run's id or the beginning of one, the latest by
default; `store` a file of runs. ToolError without pandas, InputError for a run that is not there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from fabricdoc.data.rows import Row, cell_rows, launch_rows, sample_rows, verdict_rows
from fabricdoc.errors import InputError, ToolError, pip_line
from fabricdoc.model.verdict import Verdict
from fabricdoc.store import RunStore

DataFrame = Any
"""pandas.DataFrame: pandas has no part in what fabricdoc itself does, so its types are not asked for."""
EXTRA = ("pyarrow", "pandas")
"""What the extra `data` holds."""


def library(name: str) -> Any:
    """pandas or pyarrow; ToolError with the install line where it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolError(f"{name} is not installed in this python", fix=pip_line(*EXTRA), id=f"no-{name}") from error


def _frame(rows: Iterable[Row]) -> DataFrame:
    return library("pandas").DataFrame.from_records(list(rows))


def _opened(store: str | Path | None) -> RunStore:
    return RunStore.open(None if store is None else Path(store))


def runs(*, store: str | Path | None = None) -> DataFrame:
    """The stored runs, newest first: id, created, status, backend, nodes, launches, choice."""
    with _opened(store) as opened:
        return _frame(dataclasses.asdict(one) for one in opened.list_runs())


def launches(run: str | None = None, *, store: str | Path | None = None) -> DataFrame:
    """The launches of a run (`rows.launch_rows`)."""
    with _opened(store) as opened:
        return _frame(launch_rows(opened.load(run)))


def cells(run: str | None = None, *, store: str | Path | None = None) -> DataFrame:
    """The cells of all launches of a run (`rows.cell_rows`)."""
    with _opened(store) as opened:
        return _frame(cell_rows(opened.load(run)))


def samples(run: str | None = None, *, store: str | Path | None = None) -> DataFrame:
    """Every call that was timed (`rows.sample_rows`)."""
    with _opened(store) as opened:
        return _frame(sample_rows(opened, opened.load(run)))


def verdicts(run: str | None = None, *, store: str | Path | None = None) -> DataFrame:
    """What the stored verdict says of every cell (`rows.verdict_rows`). InputError for a run without one."""
    with _opened(store) as opened:
        return _frame(verdict_rows(stored_verdict(opened, run)))


def stored_verdict(store: RunStore, run: str | None) -> Verdict:
    """The verdict kept with a run; InputError where there is none that can be read."""
    run_id = store.load(run).id
    text = store.load_document(run_id, "verdict")
    if text is None:
        raise InputError(f"run {run_id} has no verdict yet", fix=f"fabricdoc recommend {run_id}")
    try:
        return Verdict.model_validate_json(text)
    except ValueError as error:
        raise InputError(
            f"the verdict of run {run_id} can't be read", fix=f"judge it again: fabricdoc recommend {run_id}"
        ) from error
