"""What was acknowledged is there: after a normal end, after an error, and after kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError, StoreError
from fabricdoc.model.run import Candidate
from fabricdoc.store import KILLED_REASON, RunStore, SampleKey

pytestmark = pytest.mark.unit


@pytest.fixture
def path(place: Path) -> Path:
    return place / "runs.sqlite"


def test_a_finished_run_reads_back_equal(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
        store.append_launch("run-1", launch_of(2, status="failed", cells=()), {})
        store.finish("run-1", "complete")
    with RunStore.open(path) as store:
        want = run_of().model_copy(
            update={"status": "complete", "launches": (launch_of(1), launch_of(2, status="failed", cells=()))}
        )
        assert store.load("run-1").model_dump(exclude={"created"}) == want.model_dump(exclude={"created"})
        assert store.samples("run-1", 1) == samples
        assert store.samples("run-1", 2) == {}


def test_launches_are_readable_while_the_bench_goes_on(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as writer:
        writer.begin(run_of())
        with RunStore.open(path) as reader:
            for number in (1, 2, 3):
                writer.append_launch("run-1", launch_of(number), samples)
                got = reader.load()
                assert [launch.number for launch in got.launches] == list(range(1, number + 1))
                assert (got.status, reader.list_runs()[0].status) == ("running", "running")


@pytest.mark.long
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(series=st.dictionaries(
    st.builds(SampleKey, st.sampled_from(["graph", "eager"]), st.just("all_reduce"), st.integers(1, 2**40),
              st.just("bfloat16"), st.integers(0, 64)),
    st.lists(st.floats(0, 1e9), max_size=20).map(tuple), max_size=5))  # fmt: skip
def test_any_samples_come_back_equal(place: Path, run_of, launch_of, series) -> None:
    with RunStore.open(place / "any.sqlite", write=True) as store:
        run_id = f"run-{len(store.list_runs())}"
        store.begin(run_of(run_id))
        store.append_launch(run_id, launch_of(), series)
        assert store.samples(run_id, 1) == series


def test_the_list_is_newest_first_with_the_choice_of_the_verdict(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        for name in ("b-first", "a-second"):
            store.begin(run_of(name))
        store.append_launch("b-first", launch_of(), samples)
        store.finish("b-first", "interrupted", "Ctrl-C")
        store.save_document("b-first", "verdict", json.dumps({"choice": "one-rail"}))
        newest, oldest = store.list_runs()
    assert (newest.id, newest.status, newest.launches, newest.choice) == ("a-second", "running", 0, None)
    assert (oldest.id, oldest.status, oldest.launches, oldest.choice) == ("b-first", "interrupted", 1, "one-rail")
    assert (oldest.backend, oldest.nodes) == ("gloo", ("alpha", "beta"))


@pytest.mark.parametrize("text", ["no json", "[1]", '{"choice": 3}', "{}"])
def test_an_unreadable_verdict_hides_no_run(path: Path, run_of, text: str) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.save_document("run-1", "verdict", text)
        assert store.list_runs()[0].choice is None


def test_a_run_whose_writer_is_gone_was_killed(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(), samples)
    with RunStore.open(path) as store:
        assert store.list_runs()[0].status == "killed"
        got = store.load()
    assert (got.status, got.reason, len(got.launches)) == ("interrupted", KILLED_REASON, 1)


def test_a_killed_run_can_be_resumed_and_finished(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
    with RunStore.open(path, write=True) as store:
        assert len(store.resume("run-1").launches) == 1
        assert store.list_runs()[0].status == "running"
        store.append_launch("run-1", launch_of(2), samples)
        store.finish("run-1", "complete")
        got = store.load("run-1")
    assert (got.status, got.reason, len(got.launches)) == ("complete", "", 2)


def test_resuming_is_noted_each_time_and_the_plan_may_grow(path: Path, run_of, launch_of, samples) -> None:
    more = Candidate(name="a+b", variables={"A": "1"}, set_name="combined")
    for _ in range(2):
        with RunStore.open(path, write=True) as store:
            run = store.resume("run-1") if store.list_runs() else run_of()
            if not store.list_runs():
                store.begin(run)
            plan = run.plan.model_copy(update={"candidates": (*run.plan.candidates, more)})
            store.rewrite(run.model_copy(update={"plan": plan}))
            store.append_launch("run-1", launch_of(len(run.launches) + 1), samples)
    got = RunStore.open(path).load()
    assert (len(got.resumed), got.resumed[0][-1]) == (1, "Z")
    assert [one.name for one in got.plan.candidates] == ["base", "one-rail", "a+b", "a+b"]
    assert [one.number for one in got.launches] == [1, 2]
    with RunStore.open(path, write=True) as store, pytest.raises(StoreError, match="not open for writing here"):
        store.rewrite(got)


def test_samples_in_place_and_out_of_place_are_kept_apart(path: Path, run_of, launch_of, samples) -> None:
    both = samples | {key._replace(in_place=False): values[:1] for key, values in samples.items()}
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), both)
        assert store.samples("run-1", 1) == both


def test_a_store_of_the_first_edition_is_read_as_it_is_and_renewed_when_written(
    path: Path, run_of, launch_of, samples
) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
    old = sqlite3.connect(path)
    old.executescript(
        "ALTER TABLE samples RENAME TO new;"
        "CREATE TABLE samples (run_id TEXT NOT NULL, number INTEGER NOT NULL, view TEXT NOT NULL, op TEXT NOT NULL,"
        " size INTEGER NOT NULL, dtype TEXT NOT NULL, rank INTEGER NOT NULL, width INTEGER NOT NULL,"
        " data BLOB NOT NULL, PRIMARY KEY (run_id, number, view, op, size, dtype, rank),"
        " FOREIGN KEY (run_id, number) REFERENCES launches(run_id, number) ON DELETE CASCADE);"
        "INSERT INTO samples SELECT run_id, number, view, op, size, dtype, rank, width, data FROM new;"
        "DROP TABLE new; PRAGMA user_version = 1;"
    )
    old.close()
    assert RunStore.open(path).samples("run-1", 1) == samples
    outside = {key._replace(in_place=False): values for key, values in samples.items()}
    with RunStore.open(path, write=True) as store:
        store.resume("run-1")
        store.append_launch("run-1", launch_of(2), samples | outside)
        assert (store.samples("run-1", 1), store.samples("run-1", 2)) == (samples, samples | outside)
        assert store._connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []
        store.finish("run-1", "complete")
    with RunStore.open(path, write=True) as store:
        store.remove("run-1")
        assert store._connection.execute("SELECT count(*) FROM samples").fetchone() == (0,)


def _write_until_killed(path: Path, run_id: str, run_of, launch_of, samples, pipe: int) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of(run_id))
        for number in range(1, 10_000):
            store.append_launch(run_id, launch_of(number), samples)
            os.write(pipe, number.to_bytes(4, "big"))


@pytest.mark.long
def test_kill_9_loses_nothing_that_was_acknowledged(path: Path, run_of, launch_of, samples) -> None:
    """Twenty writers die at a random moment of their work, one after another on the same file."""
    random.seed(3)
    big = {key: values * 2000 for key, values in samples.items()}
    acknowledged = {}
    for turn in range(20):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                _write_until_killed(path, f"run-{turn}", run_of, launch_of, big, writing)
            finally:
                os._exit(1)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            for _ in range(random.randrange(1, 12)):
                pipe.read(4)
            os.kill(child, signal.SIGKILL)
            assert os.waitpid(child, 0)[1] == signal.SIGKILL, "the writer ended by itself"
            rest = b"".join(iter(lambda: pipe.read(4096), b""))
            acknowledged[f"run-{turn}"] = int.from_bytes(rest[-4:], "big") if rest else None
        with RunStore.open(path) as store:
            kept = [launch.number for launch in store.load(f"run-{turn}").launches]
            assert kept == list(range(1, len(kept) + 1))
            assert len(kept) >= (acknowledged[f"run-{turn}"] or 1)
            assert all(store.samples(f"run-{turn}", number) == big for number in kept)
    with RunStore.open(path, write=True) as store:
        assert store._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert {run.status for run in store.list_runs()} == {"killed"}
        assert len(store.list_runs()) == 20


def test_a_full_disk_stores_nothing_of_the_launch_and_the_store_goes_on(path: Path, run_of, launch_of, samples) -> None:
    big = {key: tuple(value / 7 for value in values * 4000) for key, values in samples.items()}
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(StoreError, match=rf"no space left for the run store {path}") as caught:
            store.append_launch("run-1", launch_of(2), big)
        assert "--store" in caught.value.fix
        assert [launch.number for launch in store.load().launches] == [1]
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.append_launch("run-1", launch_of(2), big)
        assert store.samples("run-1", 2) == big


def test_a_launch_that_could_not_be_read_back_is_refused_and_the_run_stays_readable(
    path: Path, run_of, launch_of, samples
) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        with pytest.raises(StoreError, match="launch 1 could not be read back"):
            store.append_launch("run-1", launch_of(1, seconds=float("nan")), samples)
        assert store.load().launches == ()


def test_a_launch_number_is_stored_once(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
        with pytest.raises(StoreError, match="has that already"):
            store.append_launch("run-1", launch_of(1, seconds=9.0), {})
        assert store.load().launches == (launch_of(1),)
        assert store.samples("run-1", 1) == samples


def test_a_run_id_is_begun_once_and_the_first_stays(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
        store.finish("run-1", "complete")
        with pytest.raises(StoreError, match="has that already"):
            store.begin(run_of())
        assert (store.load().status, len(store.load().launches)) == ("complete", 1)
        with pytest.raises(StoreError, match="not open for writing"):
            store.append_launch("run-1", launch_of(2), samples)


@pytest.mark.parametrize("run_id", ["", "../up", "a/b", "-x", "a b", "x" * 101])
def test_an_id_that_is_no_file_name_is_refused(path: Path, run_of, run_id: str) -> None:
    with RunStore.open(path, write=True) as store, pytest.raises(ValueError, match="plain id"):
        store.begin(run_of(run_id))


def test_only_the_writer_of_a_run_may_append_finish_or_remove_it(path: Path, run_of, launch_of, monkeypatch) -> None:
    monkeypatch.setattr("fabricdoc.store.lock._WAIT_S", 0.0)
    with RunStore.open(path, write=True) as writer, RunStore.open(path, write=True) as other:
        writer.begin(run_of())
        for job in (lambda: other.append_launch("run-1", launch_of(), {}), lambda: other.finish("run-1", "failed")):
            with pytest.raises(StoreError, match="not open for writing here"):
                job()
        for job in (lambda: other.remove("run-1"), lambda: other.resume("run-1")):
            with pytest.raises(StoreError, match="written by another process"):
                job()
        assert [run.id for run in other.list_runs()] == ["run-1"]


def test_removing_a_run_takes_everything_of_it(path: Path, run_of, launch_of, samples) -> None:
    with RunStore.open(path, write=True) as store:
        for name in ("run-1", "run-2"):
            store.begin(run_of(name))
            store.append_launch(name, launch_of(), samples)
            store.save_document(name, "verdict", "{}")
            store.finish(name, "complete")
        store.remove("run-1")
        left = {
            table: {row[0] for row in store._connection.execute(f"SELECT {column} FROM {table}")}
            for table, column in (
                ("runs", "id"),
                ("launches", "run_id"),
                ("samples", "run_id"),
                ("documents", "run_id"),
            )
        }
    assert left == {table: {"run-2"} for table in ("runs", "launches", "samples", "documents")}
    assert [file.name for file in (path.parent / "runs").iterdir()] == ["run-2.lock"]


def test_documents_are_kept_with_their_run(path: Path, run_of) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        assert store.load_document("run-1", "preset") is None
        store.save_document("run-1", "preset", "first")
        store.save_document("run-1", "preset", "second é\n")
        assert store.load_document("run-1", "preset") == "second é\n"


def test_latest_is_the_run_begun_last(path: Path, run_of) -> None:
    with RunStore.open(path, write=True) as store:
        assert store.latest_id() is None
        for name in ("z", "a"):
            store.begin(run_of(name))
        assert store.latest_id() == "a"
        assert store.load().id == "a"


def test_a_unique_beginning_of_an_id_will_do(path: Path, run_of) -> None:
    with RunStore.open(path, write=True) as store:
        for name in ("20261129-aa", "20261129-ab", "20261129"):
            store.begin(run_of(name))
        assert store.load("20261129-aa").id == "20261129-aa"
        assert store.load("20261129").id == "20261129"
        with pytest.raises(InputError, match="names more than one run") as caught:
            store.load("20261129-")
        assert "20261129-aa, 20261129-ab" in caught.value.fix


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("20261129-160502-fa1b", "20261129-160502-fa1a"),
        ("fa1a", "20261129-160502-fa1a"),
        ("nosuch", ""),
        ("20260401-093011-77c0", ""),
        ("", ""),
        ("%", ""),
        ("' OR 1=1 --", ""),
    ],
)
def test_an_unknown_run_names_only_one_that_is_near(path: Path, run_of, wanted: str, meant: str) -> None:
    with RunStore.open(path, write=True) as store:
        for name in ("20261129-160502-fa1a", "20261130-081744-9c3e"):
            store.begin(run_of(name))
        with pytest.raises(InputError, match="names no run in") as caught:
            store.load(wanted)
    told = f"did you mean {meant}? See: " if meant else "see which there are: "
    assert caught.value.fix == f"{told}fabricdoc runs list --store {path}"


def test_the_usual_store_needs_no_name(tmp_path: Path, run_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with RunStore.open(write=True) as store:
        store.begin(run_of("20261129-160502-fa1a"))
        with pytest.raises(InputError) as caught:
            store.load("nosuch")
    assert caught.value.fix == "see which there are: fabricdoc runs list"


def test_a_store_that_does_not_exist_reads_as_empty_and_is_not_made(path: Path) -> None:
    with RunStore.open(path) as store:
        assert (store.list_runs(), store.latest_id()) == ((), None)
        with pytest.raises(InputError, match=f"no run is stored yet in {path}") as caught:
            store.load()
    assert "fabricdoc bench" in caught.value.fix
    assert list(path.parent.iterdir()) == []


def test_a_store_whose_maker_was_killed_at_once_reads_as_empty(path: Path) -> None:
    for make in (lambda: path.touch(), lambda: sqlite3.connect(path).execute("PRAGMA journal_mode = WAL")):
        make()
        with RunStore.open(path) as store:
            assert store.list_runs() == ()
    with RunStore.open(path, write=True) as store:
        assert store.list_runs() == ()


def test_reading_changes_nothing(path: Path, run_of) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
    before = path.read_bytes()
    with RunStore.open(path) as store:
        store.load()
        with pytest.raises(StoreError, match="can't be written"):
            store.save_document("run-1", "verdict", "{}")
    assert path.read_bytes() == before


def test_a_path_with_odd_letters_is_that_path(place: Path, run_of) -> None:
    path = place / "a ?mode=memory#%41é.sqlite"
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
    assert path.stat().st_size > 0
    with RunStore.open(path) as store:
        assert store.latest_id() == "run-1"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_that_is_gone_or_another_file_takes_no_launch(
    path: Path, run_of, launch_of, samples, replaced: bool
) -> None:
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.append_launch("run-1", launch_of(1), samples)
        path.unlink()
        if replaced:
            path.write_bytes(b"")
        with pytest.raises(StoreError, match="removed or replaced"):
            store.append_launch("run-1", launch_of(2), samples)


def test_a_store_that_is_only_judged_is_not_made(path: Path) -> None:
    with RunStore.open(path, write=True, make=False) as store:
        assert store.list_runs() == ()
        with pytest.raises(InputError, match="no run is stored yet"):
            store.load()
    assert not path.exists()


def test_a_pipe_is_no_store(path: Path) -> None:
    os.mkfifo(path)
    for write in (False, True):
        with pytest.raises(InputError, match="a pipe or a device"):
            RunStore.open(path, write=write)
