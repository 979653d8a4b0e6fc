"""A run belongs to one live writer, and to nobody once that writer is dead, however it died."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fabricdoc.errors import StoreError
from fabricdoc.store import lock as subject

pytestmark = pytest.mark.unit


def test_a_run_without_a_lock_file_has_no_writer(place: Path) -> None:
    assert not subject.writer_lives(place / "runs.sqlite", "run-1")


def test_the_writer_lives_until_it_lets_go(place: Path) -> None:
    held = subject.WriterLock(place / "runs.sqlite", "run-1")
    assert subject.writer_lives(place / "runs.sqlite", "run-1")
    assert not subject.writer_lives(place / "runs.sqlite", "run-2")
    held.release()
    held.release()
    assert not subject.writer_lives(place / "runs.sqlite", "run-1")


def test_a_second_writer_is_refused_in_one_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_WAIT_S", 0.0)
    held = subject.WriterLock(place / "runs.sqlite", "run-1")
    with pytest.raises(StoreError, match="run run-1 is being written by another process") as caught:
        subject.WriterLock(place / "runs.sqlite", "run-1")
    assert caught.value.fix
    held.release()
    subject.WriterLock(place / "runs.sqlite", "run-1").release()


def test_the_kernel_drops_the_lock_of_a_killed_writer(place: Path) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        subject.WriterLock(place / "runs.sqlite", "run-1")
        os.write(writing, b"held")
        signal.pause()
        os._exit(0)
    try:
        assert os.read(reading, 4) == b"held"
        assert subject.writer_lives(place / "runs.sqlite", "run-1")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)
    assert subject.lock_path(place / "runs.sqlite", "run-1").exists()
    assert not subject.writer_lives(place / "runs.sqlite", "run-1")


def test_a_lock_that_can_not_be_looked_at_counts_as_held(place: Path) -> None:
    path = subject.lock_path(place / "runs.sqlite", "run-1")
    path.parent.mkdir()
    path.symlink_to(place / "elsewhere")
    assert subject.writer_lives(place / "runs.sqlite", "run-1")


def test_a_folder_that_can_not_be_made_is_one_clear_line(place: Path) -> None:
    (place / "runs").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match=r"lock file .*run-1\.lock can't be made") as caught:
        subject.WriterLock(place / "runs.sqlite", "run-1")
    assert "--store" in caught.value.fix
