"""Exports read back by other readers: csv, json, and pyarrow where it is installed."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from fabricdoc.data import frames
from fabricdoc.data.files import FORMATS, WHAT, export_run
from fabricdoc.errors import FabricdocError, InputError, ToolError, UsageError
from fabricdoc.store import RunStore
from tests.unit.data.conftest import RUN

pytestmark = pytest.mark.unit


def export(path: Path, what: str = "cells", form: str = "csv", to: Path | None = None) -> str:
    with RunStore.open(path) as store:
        return export_run(store, None, what, form, to)


def test_csv_reads_back_with_every_awkward_text(path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(export(path, "launches"))))
    assert [row["candidate"] for row in rows] == ["base", "tree", "tree"]
    assert rows[2]["reason"] == 'broke, "here"\n'
    assert rows[2]["network"] == ""


def test_json_is_one_document_with_its_columns(path: Path) -> None:
    said = json.loads(export(path, "samples", "json"))
    assert (said["schema"], said["run"], said["table"]) == ("fabricdoc/rows/1", RUN, "samples")
    rows = [dict(zip(said["columns"], row, strict=True)) for row in said["rows"]]
    assert [row["us"] for row in rows] == [39.0, 40.0, 41.0, 40.0, 32.0]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_both_hold_the_same_cells(path: Path, form: str) -> None:
    text = export(path, "cells", form)
    if form == "csv":
        medians = [float(row["median_us"]) for row in csv.DictReader(io.StringIO(text))]
    else:
        said = json.loads(text)
        medians = [row[said["columns"].index("median_us")] for row in said["rows"]]
    assert medians == [40.0, 32.0]


def test_a_file_gets_what_stdout_would_have_got(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    assert export(path, to=file) == ""
    assert file.read_text() == export(path)


@pytest.mark.parametrize(
    ("what", "form", "said"),
    [("cell", "csv", "no table 'cell'"), ("cells", "xlsx", "no format 'xlsx'"), ("cells", "parquet", "-o FILE")],
)
def test_what_there_is_not_is_refused_with_what_there_is(path: Path, what: str, form: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export(path, what, form)
    assert said in f"{caught.value.message} {caught.value.fix}"
    assert "-o FILE" in caught.value.fix or all(
        one in caught.value.fix for one in (WHAT if what == "cell" else FORMATS)
    )


def test_a_file_that_can_not_be_written(path: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't write"):
        export(path, to=tmp_path / "no" / "folder.csv")


def test_a_run_without_a_verdict_says_how_to_get_one(path: Path) -> None:
    with RunStore.open(path, write=True) as store:
        store.save_document(RUN, "verdict", "{")
    with pytest.raises(InputError) as caught:
        export(path, "verdicts")
    assert caught.value.fix.endswith(f"fabricdoc recommend {RUN}")


def test_an_empty_table_is_an_empty_file_not_a_fault(path: Path) -> None:
    with RunStore.open(path) as store:
        run = store.load()
    empty = run.model_copy(update={"launches": ()})

    class Stored:
        def load(self, _run: str | None) -> object:
            return empty

    assert export_run(Stored(), None, "cells", "csv", None) == ""  # type: ignore[arg-type]
    assert json.loads(export_run(Stored(), None, "cells", "json", None))["rows"] == []  # type: ignore[arg-type]


def test_without_pyarrow_the_install_line_is_given(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(frames, "import_module", missing)
    with pytest.raises(FabricdocError) as caught:
        export(path, "cells", "parquet", tmp_path / "x.parquet")
    assert (caught.value.id, caught.value.fix) == ("no-pyarrow", f"{sys.executable} -m pip install pyarrow pandas")


@pytest.mark.parametrize("what", WHAT)
def test_parquet_reads_back(path: Path, tmp_path: Path, what: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow (the data extra) is not installed here")
    file = tmp_path / f"{what}.parquet"
    export(path, what, "parquet", file)
    rows = parquet.read_table(file).to_pylist()
    said = json.loads(export(path, what, "json"))
    assert rows == [dict(zip(said["columns"], row, strict=True)) for row in said["rows"]]
