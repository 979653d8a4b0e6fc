"""The run store: begin a run, append launches as they end, finish it, read it back.

One object is one connection, used from one thread. Judging, printing and planning are other rooms' jobs.
"""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import ValidationError

from fabricdoc.errors import InputError, StoreError
from fabricdoc.files import is_file
from fabricdoc.model.documents import utc_now
from fabricdoc.model.run import Launch, Run
from fabricdoc.store import database, packing
from fabricdoc.store.lock import WriterLock, lock_path, writer_lives
from fabricdoc.store.packing import SampleKey
from fabricdoc.store.place import default_path

# how alike (difflib's ratio) a wrong id must be to a stored one to be a slip of it: ids of one day share half of it
LIKE = 0.75
KILLED_REASON = "the bench was killed; work so far is kept"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
EndStatus = Literal["complete", "interrupted", "failed"]


@dataclass(frozen=True)
class RunSummary:
    """One line of `runs list`; `status` is the run's, or "killed" when its writer is gone without finishing."""

    id: str
    created: str
    status: str
    backend: str
    nodes: tuple[str, ...]
    launches: int
    choice: str | None


class RunStore:
    """Runs in one SQLite file. Make it with `open`; it is a context manager that closes itself."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._file = database.identity(path)
        self._locks: dict[str, WriterLock] = {}

    @classmethod
    def open(cls, path: Path | None = None, *, write: bool = False, make: bool = True) -> Self:
        """Open the store at `path` (default: `default_path()`); with `write` and `make` it is made when missing.

        Without `write` nothing is changed and a missing file reads as an empty store. Raises StoreError (disk,
        permission, damage) or InputError (not a store, a newer edition).
        """
        path = default_path() if path is None else path
        write = write and (make or is_file(path))
        connection = database.open_for_writing(path) if write else database.open_for_reading(path)
        return cls(connection, path)

    def close(self) -> None:
        """Let go of the file and of the runs being written; calling it again does nothing."""
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, run: Run) -> None:
        """Store a run that starts now, without launches, and hold its writer's lock until `finish` or `close`.

        Raises StoreError when it can't be written or that id is taken.
        """
        if not _ID.fullmatch(run.id) or run.launches or run.status != "running":
            raise ValueError("a run begins with a plain id, as running, and without launches")
        row = (run.id, run.created, run.reason, run.plan.backend, json.dumps([node.name for node in run.nodes]))
        self._hold(run.id)
        try:
            with database.told(self.path), database.transaction(self._connection):
                self._connection.execute(
                    "INSERT INTO runs (id, created, status, reason, backend, nodes, document)"
                    " VALUES (?, ?, 'running', ?, ?, ?, ?)",
                    (*row, run.model_dump_json(exclude={"launches"})),
                )
        except BaseException:
            self._let_go(run.id)
            raise

    def resume(self, run_id: str) -> Run:
        """Go on with a run that ended early: hold its lock, set it running again, note when, and return it.

        Raises InputError (no such run) or StoreError (another process writes it).
        """
        run_id = self._resolve(run_id)
        self._hold(run_id)
        try:
            run = self.load(run_id)
            again = run.model_copy(update={"status": "running", "reason": "", "resumed": (*run.resumed, utc_now())})
            self.rewrite(again)
            self._set_status(run_id, "running", "")
            return again
        except BaseException:
            self._let_go(run_id)
            raise

    def rewrite(self, run: Run) -> None:
        """Store the run's own document anew (a plan that grew, a time of resuming); launches are not touched.

        Raises StoreError.
        """
        self._must_hold(run.id)
        database.refuse_replaced(self.path, self._file)
        with database.told(self.path), database.transaction(self._connection):
            self._connection.execute(
                "UPDATE runs SET document = ? WHERE id = ?", (run.model_dump_json(exclude={"launches"}), run.id)
            )

    def append_launch(self, run_id: str, launch: Launch, samples: Mapping[SampleKey, Sequence[float]]) -> None:
        """Store a launch with its samples (µs per call) in one transaction; on return it survives a kill.

        Raises StoreError with nothing of it stored; launch and samples are untouched, so `rescue` can keep them.
        """
        self._must_hold(run_id)
        database.refuse_replaced(self.path, self._file)
        text = launch.model_dump_json()
        try:
            Launch.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"launch {launch.number} could not be read back: {_first_line(error)}") from error
        rows = [(run_id, launch.number, *key, *packing.pack(values)) for key, values in samples.items()]
        with database.told(self.path), database.transaction(self._connection):
            self._connection.execute("INSERT INTO launches VALUES (?, ?, ?)", (run_id, launch.number, text))
            self._connection.executemany("INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def finish(self, run_id: str, status: EndStatus, reason: str = "") -> None:
        """Write how the run ended and let go of its lock. Raises StoreError."""
        self._must_hold(run_id)
        self._set_status(run_id, status, reason)
        self._let_go(run_id)

    def load(self, run_id: str | None = None) -> Run:
        """The run (latest without an id; a unique beginning of an id will do) with all its launches.

        A run whose writer was killed comes as "interrupted". Raises InputError (no such run) or StoreError.
        """
        run_id = self._resolve(run_id)
        with database.told(self.path):
            row = self._connection.execute("SELECT status, reason, document FROM runs WHERE id = ?", (run_id,))
            status, reason, document = row.fetchone()
            launches = self._connection.execute(
                "SELECT document FROM launches WHERE run_id = ? ORDER BY number", (run_id,)
            ).fetchall()
        if self._killed(run_id, status):
            status, reason = "interrupted", KILLED_REASON
        try:
            content: dict[str, Any] = json.loads(document)
            content |= {"status": status, "reason": reason, "launches": [json.loads(text) for (text,) in launches]}
            return Run.model_validate(content)
        except ValueError as error:
            raise StoreError(
                f"run {run_id} in {self.path} can't be read: {_first_line(error)}",
                fix="read it with the fabricdoc that wrote it, or measure again",
            ) from error

    def samples(self, run_id: str, number: int) -> dict[SampleKey, tuple[float, ...]]:
        """The samples of one launch, µs per call, by shape, view and rank (empty when it has none)."""
        with database.told(self.path):
            place = "in_place" if database.edition_of(self._connection) > 1 else "1"
            rows = self._connection.execute(
                f"SELECT view, op, size, dtype, rank, {place}, width, data FROM samples"
                " WHERE run_id = ? AND number = ? ORDER BY view, op, size, dtype, rank, 6",
                (self._resolve(run_id), number),
            ).fetchall()
        try:
            return {SampleKey(*row[:5])._replace(in_place=bool(row[5])): packing.unpack(*row[6:]) for row in rows}
        except ValueError as error:
            raise StoreError(f"the samples of launch {number} in {self.path} are damaged: {error}") from error

    def list_runs(self) -> tuple[RunSummary, ...]:
        """Every run, newest first."""
        with database.told(self.path):
            rows = self._connection.execute(
                "SELECT id, created, status, backend, nodes,"
                " (SELECT count(*) FROM launches WHERE run_id = runs.id),"
                " (SELECT text FROM documents WHERE run_id = runs.id AND kind = 'verdict')"
                " FROM runs ORDER BY serial DESC"
            ).fetchall()
        return tuple(
            RunSummary(
                id=run_id,
                created=created,
                status="killed" if self._killed(run_id, status) else status,
                backend=backend,
                nodes=tuple(json.loads(nodes)),
                launches=launches,
                choice=_choice(verdict),
            )
            for run_id, created, status, backend, nodes, launches, verdict in rows
        )

    def latest_id(self) -> str | None:
        """The id of the run begun last, or None."""
        with database.told(self.path):
            row = self._connection.execute("SELECT id FROM runs ORDER BY serial DESC LIMIT 1").fetchone()
        return None if row is None else str(row[0])

    def save_document(self, run_id: str, kind: str, text: str) -> None:
        """Keep a document (verdict, preset, fabric ...) with its run, over one of the same kind."""
        with database.told(self.path), database.transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (self._resolve(run_id), kind, text)
            )

    def load_document(self, run_id: str, kind: str) -> str | None:
        """The text saved under that kind with that run, or None."""
        with database.told(self.path):
            row = self._connection.execute(
                "SELECT text FROM documents WHERE run_id = ? AND kind = ?", (self._resolve(run_id), kind)
            ).fetchone()
        return None if row is None else str(row[0])

    def remove(self, run_id: str) -> None:
        """Forget a run with its launches, samples and documents.

        Raises InputError (no such run) or StoreError (it is being written right now).
        """
        run_id = self._resolve(run_id)
        self._hold(run_id)
        try:
            with database.told(self.path), database.transaction(self._connection):
                self._connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))
        finally:
            self._let_go(run_id)
        lock_path(self.path, run_id).unlink(missing_ok=True)

    def _resolve(self, wanted: str | None) -> str:
        """The full id: of the latest run, of an exact id, or of the one id that begins with `wanted`."""
        with database.told(self.path):
            ids = [str(row[0]) for row in self._connection.execute("SELECT id FROM runs ORDER BY serial")]
        if not ids:
            raise InputError(
                f"no run is stored yet in {self.path}", fix="measure first: fabricdoc bench --nodes A,B", id="no-run"
            )
        if wanted is None:
            return ids[-1]
        matches = [wanted] if wanted in ids else [run_id for run_id in ids if wanted and run_id.startswith(wanted)]
        if len(matches) == 1:
            return matches[0]
        near = matches or _nearest(wanted, ids)
        problem = "names more than one run" if matches else "names no run"
        meant = f"did you mean {', '.join(near[:5])}? See: " if near else "see which there are: "
        raise InputError(f"{wanted!r} {problem} in {self.path}", fix=f"{meant}fabricdoc runs list{self.words}")

    @property
    def words(self) -> str:
        """How a command has to name this store, "" for the usual one."""
        try:
            usual = self.path == default_path()
        except StoreError:  # a user without any home
            usual = False
        return "" if usual else f" --store {shlex.quote(str(self.path))}"

    def _set_status(self, run_id: str, status: str, reason: str) -> None:
        with database.told(self.path), database.transaction(self._connection):
            self._connection.execute("UPDATE runs SET status = ?, reason = ? WHERE id = ?", (status, reason, run_id))

    def _killed(self, run_id: str, status: str) -> bool:
        return status == "running" and not writer_lives(self.path, run_id)

    def _hold(self, run_id: str) -> None:
        if run_id in self._locks:
            raise StoreError(f"run {run_id} is being written here already", fix="finish it first")
        self._locks[run_id] = WriterLock(self.path, run_id)

    def _must_hold(self, run_id: str) -> None:
        if run_id not in self._locks:
            raise StoreError(f"run {run_id} is not open for writing here", fix="begin or resume it first")

    def _let_go(self, run_id: str) -> None:
        self._locks.pop(run_id).release()


def _nearest(wanted: str, ids: Sequence[str]) -> list[str]:
    """Up to three ids that `wanted` may have meant: it is a part of them, or a slip of one of them."""
    holding = [run_id for run_id in ids if len(wanted) > 2 and wanted in run_id]
    return holding[-3:] or get_close_matches(wanted, ids, n=3, cutoff=LIKE)


def _choice(verdict: str | None) -> str | None:
    """The choice a stored verdict document names; None without one, or when it can't be read."""
    try:
        content = json.loads(verdict or "null")
    except ValueError:
        return None
    choice = content.get("choice") if isinstance(content, dict) else None
    return choice if isinstance(choice, str) else None


def _first_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0]
