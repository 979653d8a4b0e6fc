"""Opening the SQLite file: its tables, its edition, and what each of SQLite's complaints means to a user.

Write-ahead log, full sync: a commit survives kill -9 and power loss. This module knows tables, not documents.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from fabricdoc.errors import FabricdocError, InputError, StoreError
from fabricdoc.store import place

EDITION = 2  # 2: samples of one shape in place and out of place are kept apart
APPLICATION = 0x66616264  # "fabd", in the file's header: tells our store from any other SQLite file
BUSY_S = 10.0
_HEADER_BYTES = 100  # sqlite.org/fileformat2.html; SQLite itself takes a file of one byte for an empty database

_SAMPLES = """CREATE TABLE samples (
        run_id TEXT NOT NULL, number INTEGER NOT NULL, view TEXT NOT NULL, op TEXT NOT NULL, size INTEGER NOT NULL,
        dtype TEXT NOT NULL, rank INTEGER NOT NULL, in_place INTEGER NOT NULL, width INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (run_id, number, view, op, size, dtype, rank, in_place),
        FOREIGN KEY (run_id, number) REFERENCES launches(run_id, number) ON DELETE CASCADE
    )"""
_FROM_EDITION_1 = (
    "ALTER TABLE samples RENAME TO samples_1",
    _SAMPLES,
    "INSERT INTO samples SELECT run_id, number, view, op, size, dtype, rank, 1, width, data FROM samples_1",
    "DROP TABLE samples_1",
    f"PRAGMA user_version = {EDITION}",
)

_TABLES = (
    """CREATE TABLE runs (
        serial INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, created TEXT NOT NULL,
        status TEXT NOT NULL, reason TEXT NOT NULL, backend TEXT NOT NULL, nodes TEXT NOT NULL, document TEXT NOT NULL
    )""",
    """CREATE TABLE launches (
        run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, number INTEGER NOT NULL, document TEXT NOT NULL,
        PRIMARY KEY (run_id, number)
    ) WITHOUT ROWID""",
    _SAMPLES,
    """CREATE TABLE documents (
        run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE, kind TEXT NOT NULL, text TEXT NOT NULL,
        PRIMARY KEY (run_id, kind)
    )""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {EDITION}",
)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open (and make, with its folders) the store at `path`. Raises StoreError or InputError."""
    _refuse_foreign(path)
    try:
        place.make_folder(path.parent)
        place.make_file(path)
    except OSError as error:
        raise StoreError(
            f"the run store {path} can't be made: {error.strerror}",
            fix=f"make {path.parent} writable, or name another place with --store",
        ) from error
    try:
        with told(path):
            return _checked(_connect(path, "mode=rw"), path, write=True)
    except StoreError as error:
        if os.access(path, os.R_OK) and not os.access(path.parent, os.W_OK):  # SQLite only says that it can't open it
            raise StoreError(
                f"the run store {path} can't be written: {path.parent} is read-only for you",
                fix="copy it to a folder of yours (with its -wal file), and name that with --store",
            ) from error
        raise


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the store at `path` without changing it; one that does not exist yet reads as empty.

    Raises StoreError or InputError.
    """
    _refuse_foreign(path)
    with told(path):
        connection = None if _is_missing(path) else _connect_reading(path)
        if connection is not None and _is_new(connection):  # its maker was killed before the tables were there
            connection.close()
            connection = None
        if connection is None:
            return _checked(sqlite3.connect(":memory:", isolation_level=None), path, write=True)
        return _checked(connection, path, write=False)


def identity(path: Path) -> tuple[int, int] | None:
    """Which file is at `path` (device and inode), None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def refuse_replaced(path: Path, opened: tuple[int, int] | None) -> None:
    """StoreError when the file that was opened is no longer at `path`: what is written to it would be lost."""
    if opened is not None and identity(path) != opened:
        raise StoreError(
            f"the run store {path} was removed or replaced while it was in use",
            fix="leave it alone while a bench runs; measure again",
        )


def _connect_reading(path: Path) -> sqlite3.Connection:
    """A read-only connection that proved it can read, also in a folder where SQLite may make no file."""
    try:
        return _proven(_connect(path, "mode=ro"))
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        return _proven(_connect(path, "mode=ro&immutable=1"))


def _proven(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_foreign(path: Path) -> None:
    try:
        is_folder, size = path.is_dir(), path.stat().st_size if path.exists() else 0
    except OSError as error:
        raise _not_open(path, error.strerror or str(error)) from error
    if path.exists() and not is_folder and not path.is_file():
        raise _not_a_store(path, "a pipe or a device")
    if is_folder:
        raise InputError(f"the run store {path} is a folder", fix=f"name a file: --store {path}/runs.sqlite")
    if 0 < size < _HEADER_BYTES:
        raise _not_a_store(path, "shorter than a header")


def _is_missing(path: Path) -> bool:
    """Whether nothing was ever written there (a file made but never filled counts too)."""
    log = path.with_name(f"{path.name}-wal")
    return not path.exists() or (path.stat().st_size == 0 and not log.exists())


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, isolation_level=None, timeout=BUSY_S)


def _checked(connection: sqlite3.Connection, path: Path, *, write: bool) -> sqlite3.Connection:
    """The connection once its file proved to be ours; closed when it isn't."""
    try:
        if write:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            with transaction(connection):
                for statement in _TABLES if _is_new(connection) else _renewal(connection):
                    connection.execute(statement)
        _check_edition(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _renewal(connection: sqlite3.Connection) -> tuple[str, ...]:
    """What brings an older store of ours to this edition."""
    ours = _pragma(connection, "application_id") == APPLICATION
    return _FROM_EDITION_1 if ours and edition_of(connection) == 1 else ()


def edition_of(connection: sqlite3.Connection) -> int:
    """The edition of an open store: what is only read stays as old as it is."""
    return _pragma(connection, "user_version")


def _is_new(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(tables == 0) and _pragma(connection, "application_id") == 0


def _check_edition(connection: sqlite3.Connection, path: Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION:
        raise _not_a_store(path, "a SQLite file of something else")
    edition = edition_of(connection)
    if edition > EDITION:
        raise InputError(
            f"{path} was written by a newer fabricdoc (store edition {edition}, this one knows {EDITION})",
            fix="use that newer fabricdoc, or name another store with --store",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: commit at the end, roll back on any exception. Takes the write lock at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn SQLite's complaints about the store at `path` into one clear line with a fix."""
    try:
        yield
    except sqlite3.Error as error:
        raise _meaning(path, error) from error


def _meaning(path: Path, error: sqlite3.Error) -> FabricdocError:
    """What an SQLite result code means here. Fact source: sqlite.org/rescode.html."""
    elsewhere = "name another place with --store"
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StoreError(f"no space left for the run store {path}", fix=f"free space there, or {elsewhere}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreError(
                f"the run store {path} can't be written: {error}",
                fix=f"make it and {path.parent} writable for you, or {elsewhere}",
            )
        case sqlite3.SQLITE_CANTOPEN:
            return _not_open(path, str(error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"another process kept the run store {path} busy for {BUSY_S:.0f} s",
                fix=f"let it end and try again, or {elsewhere}",
            )
        case sqlite3.SQLITE_NOTADB:
            return _not_a_store(path, str(error))
        case sqlite3.SQLITE_CONSTRAINT:
            return StoreError(
                f"the run store {path} has that already: {error}",
                fix="every run id, and every launch number of a run, is stored once",
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(
                f"the run store {path} is damaged: {error}",
                fix=f"keep a copy (`sqlite3 {path} .recover` may save runs), move it away and start a new one",
            )
        case _:
            return StoreError(f"the run store {path} failed: {error}", fix=f"check that disk, or {elsewhere}")


def _not_a_store(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is not a fabricdoc run store: {why}",
        fix="name the file that `fabricdoc bench` wrote, or leave --store out",
    )


def _not_open(path: Path, why: str) -> StoreError:
    return StoreError(
        f"the run store {path} can't be opened: {why}",
        fix=f"make it and {path.parent} readable for you (or copy it with its -wal file to a folder of yours)",
    )
