"""Every way a store can refuse is one clear line that names the path and says what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fabricdoc.errors import InputError, StoreError
from fabricdoc.store import RunStore, database

pytestmark = pytest.mark.unit


@pytest.fixture
def path(place: Path, run_of) -> Path:
    """A cleanly closed store with one finished run, readable by all."""
    with RunStore.open(place / "runs.sqlite", write=True) as store:
        store.begin(run_of())
        store.finish("run-1", "complete")
    (place / "runs.sqlite").chmod(0o644)
    (place / "runs").chmod(0o755)
    return place / "runs.sqlite"


def _open(path: Path, write: bool) -> None:
    with RunStore.open(path, write=write) as store:
        assert store.list_runs()[0].id == "run-1"


def test_a_store_in_a_folder_that_can_not_be_written_can_be_read(path: Path, nobody) -> None:
    path.parent.chmod(0o555)
    assert nobody(lambda: _open(path, write=False)) == ("", "", "")


def test_a_run_in_progress_can_be_read_by_another_user_or_says_why_not(path: Path, run_of, nobody) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of("run-2"))
        for file in path.parent.glob("runs.sqlite*"):
            file.chmod(0o644)

        def read() -> None:
            with RunStore.open(path) as reader:
                assert reader.latest_id() == "run-2"
                assert reader.list_runs()[0].status == "running"

        assert nobody(read) == ("", "", "")


def test_writing_into_a_read_only_folder_is_one_clear_line(path: Path, nobody) -> None:
    path.parent.chmod(0o555)
    kind, message, fix = nobody(lambda: _open(path, write=True))
    assert kind == StoreError.__name__
    assert str(path) in message
    assert "--store" in fix
    assert "\n" not in message + fix


def test_making_a_store_in_a_read_only_folder_is_one_clear_line(place: Path, nobody) -> None:
    place.chmod(0o555)
    for wanted in (place / "runs.sqlite", place / "deeper/runs.sqlite"):
        kind, message, fix = nobody(lambda wanted=wanted: _open(wanted, write=True))
        assert (kind, message) == (StoreError.__name__, f"the run store {wanted} can't be made: Permission denied")
        assert "--store" in fix


@pytest.mark.parametrize("write", [True, False])
def test_a_file_without_permission_is_one_clear_line(path: Path, nobody, write: bool) -> None:
    path.chmod(0o600)
    kind, message, fix = nobody(lambda: _open(path, write=write))
    assert kind == StoreError.__name__
    assert str(path) in message
    assert fix


@pytest.mark.parametrize("write", [True, False])
def test_a_folder_without_permission_is_one_clear_line(path: Path, nobody, write: bool) -> None:
    path.parent.chmod(0o700)
    kind, message, _ = nobody(lambda: _open(path, write=write))
    assert (kind, message) == (StoreError.__name__, f"the run store {path} can't be opened: Permission denied")


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("content", [b"# a text file, longer than a header\n" * 40, b"x", b"SQLite format 3\0" * 9])
def test_a_file_that_is_no_database_is_refused_untouched(place: Path, content: bytes, write: bool) -> None:
    path = place / "notes.txt"
    path.write_bytes(content)
    with pytest.raises((InputError, StoreError), match=r"notes\.txt") as caught:
        RunStore.open(path, write=write)
    assert caught.value.fix
    assert path.read_bytes() == content


@pytest.mark.parametrize("write", [True, False])
def test_somebody_elses_database_is_refused(place: Path, write: bool) -> None:
    path = place / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE runs (id TEXT)")
    with pytest.raises(InputError, match="SQLite file of something else"):
        RunStore.open(path, write=write)


@pytest.mark.parametrize("write", [True, False])
def test_a_newer_edition_is_refused_with_both_numbers(path: Path, write: bool) -> None:
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 7")
    with pytest.raises(InputError, match="newer fabricdoc \\(store edition 7, this one knows 2\\)") as caught:
        RunStore.open(path, write=write)
    assert "newer fabricdoc" in caught.value.fix


@pytest.mark.parametrize("write", [True, False])
def test_a_folder_is_no_store(place: Path, write: bool) -> None:
    with pytest.raises(InputError, match="is a folder") as caught:
        RunStore.open(place, write=write)
    assert f"{place}/runs.sqlite" in caught.value.fix


def test_a_damaged_store_is_told_as_damaged(path: Path, run_of) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged") as caught, RunStore.open(path) as store:
        store.list_runs()
    assert ".recover" in caught.value.fix


def test_a_busy_store_is_told_as_busy(path: Path, run_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    hog = sqlite3.connect(path, isolation_level=None)
    with RunStore.open(path, write=True) as store:
        hog.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process kept the run store"):
            store.begin(run_of("run-2"))
        hog.execute("ROLLBACK")
        store.begin(run_of("run-2"))


def test_a_commit_reaches_the_disk_before_it_is_acknowledged(path: Path) -> None:
    with RunStore.open(path, write=True) as store:
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_document_of_another_version_is_told_with_its_place(path: Path) -> None:
    with sqlite3.connect(path) as store:
        store.execute("UPDATE runs SET document = json_set(document, '$.plan.seed', 'seven')")
    with pytest.raises(StoreError, match=r"run run-1 in .* can't be read: plan\.seed: "), RunStore.open(path) as store:
        store.load()
