"""DataFrames of a stored run, where pandas is installed; the way to get it where it is not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fabricdoc.data
from fabricdoc.data import frames
from fabricdoc.errors import InputError, ToolError
from fabricdoc.store import RunStore
from tests.unit.data.conftest import RUN

pytestmark = pytest.mark.unit

TABLES: list[tuple[Callable[..., Any], int]] = [
    (fabricdoc.data.launches, 3),
    (fabricdoc.data.cells, 2),
    (fabricdoc.data.samples, 5),
    (fabricdoc.data.verdicts, 1),
]


@pytest.mark.parametrize(("table", "rows"), TABLES)
def test_a_dataframe_has_a_row_for_each(path: Path, table: Callable[..., Any], rows: int) -> None:
    pytest.importorskip("pandas", reason="pandas (the data extra) is not installed here")
    frame = table(store=path)
    assert len(frame) == rows
    assert set(frame["run"]) == {RUN}
    assert len(table("20260101", store=str(path))) == rows


def test_runs_are_listed_too(path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas (the data extra) is not installed here")
    assert list(fabricdoc.data.runs(store=path)["id"]) == [RUN]
    assert fabricdoc.data.cells(store=path).groupby("candidate")["median_us"].median().to_dict() == {
        "base": 40.0,
        "tree": 32.0,
    }


def test_without_pandas_the_install_line_is_given(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", missing)
    with pytest.raises(ToolError) as caught:
        fabricdoc.data.cells(store=path)
    assert (caught.value.id, caught.value.fix) == ("no-pandas", f"{sys.executable} -m pip install pyarrow pandas")


def test_a_run_that_is_not_there(path: Path) -> None:
    with pytest.raises(InputError):
        fabricdoc.data.cells("no-such-run", store=path)


def test_a_verdict_that_is_not_there(path: Path) -> None:
    with RunStore.open(path) as store:
        assert frames.stored_verdict(store, None).choice == "tree"
    with RunStore.open(path, write=True) as store:
        store._connection.execute("DELETE FROM documents")
        with pytest.raises(InputError, match="has no verdict yet"):
            frames.stored_verdict(store, RUN)
