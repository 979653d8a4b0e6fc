"""Who writes a run: a flock on `runs/ID.lock`, held by the live writer and dropped by the kernel when it dies.

So a run that still says "running" while nobody holds its lock was killed. A lock file left behind means nothing
by itself. Locks name runs, not the database: SQLite keeps its own.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from fabricdoc.errors import StoreError
from fabricdoc.store import place

_WAIT_S = 2.0
_STEP_S = 0.02


def lock_path(database: Path, run_id: str) -> Path:
    """The lock file of a run, beside the database."""
    return database.parent / "runs" / f"{run_id}.lock"


class WriterLock:
    """The exclusive lock of one run, held from construction to `release`.

    Raises StoreError when another process still writes that run, or the lock file can't be made.
    """

    def __init__(self, database: Path, run_id: str) -> None:
        self.path = lock_path(database, run_id)
        try:
            place.make_folder(self.path.parent)
            place.make_file(self.path)
            self._handle = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise StoreError(
                f"the lock file {self.path} can't be made: {error.strerror}",
                fix=f"make {self.path.parent} writable, or name another store with --store",
            ) from error
        if not self._take():
            os.close(self._handle)
            raise StoreError(
                f"run {run_id} is being written by another process",
                fix="wait for that bench to end, or end it, then try again",
            )

    def _take(self) -> bool:
        """Try for a short while: a reader that asks whether the run is alive holds a shared lock for a moment."""
        ends = time.monotonic() + _WAIT_S
        while not _try_lock(self._handle, fcntl.LOCK_EX):
            if time.monotonic() > ends:
                return False
            time.sleep(_STEP_S)
        return True

    def release(self, *, remove: bool = False) -> None:
        """Let go (and remove the file with `remove`); calling it again does nothing."""
        if self._handle < 0:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1


def writer_lives(database: Path, run_id: str) -> bool:
    """Whether a process holds the lock of the run. True when that can't be told (no permission to look)."""
    try:
        handle = os.open(lock_path(database, run_id), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return not _try_lock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _try_lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
