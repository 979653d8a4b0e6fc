"""Device files opened and closed at once: which can be, and by which error which can't."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from fabricdoc.probes import device_files, verbs
from tests.drivers import verbs as stand_in

pytestmark = pytest.mark.unit


def folder(root: Path, *names: str) -> Path:
    place = root / "dev" / "infiniband"
    place.mkdir(parents=True)
    for name in names:
        (place / name).touch()
    return place


def tried(root: Path) -> dict[str, str]:
    return {one["name"]: one["access"] for one in device_files.access(str(root))}


def test_only_uverbs_files_are_opened(tmp_path: Path) -> None:
    folder(tmp_path, "uverbs0", "uverbs12", "rdma_cm", "umad0", "uverbs", "uverbs0.bak")
    assert tried(tmp_path) == {"uverbs0": "ok", "uverbs12": "ok"}


def test_without_files_or_folder_nothing_is_tried(tmp_path: Path) -> None:
    assert tried(tmp_path) == {}
    folder(tmp_path, "rdma_cm")
    assert tried(tmp_path) == {}


@pytest.mark.parametrize(
    ("number", "name"), [(errno.EPERM, "EPERM"), (errno.EACCES, "EACCES"), (errno.ENXIO, "ENXIO"), (9999, "errno 9999")]
)
def test_an_error_is_named(number: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, "uverbs0")

    def refused(path: str, _flags: int) -> int:
        raise OSError(number, "refused", path)

    monkeypatch.setattr(device_files.os, "open", refused)
    assert tried(tmp_path) == {"uverbs0": name}


def test_it_is_opened_as_libibverbs_does_and_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, "uverbs0")
    asked: list[int] = []
    real = os.open

    def noting(path: str, flags: int) -> int:
        asked.append(flags)
        return real(path, flags)

    before = set(Path("/proc/self/fd").iterdir())
    monkeypatch.setattr(device_files.os, "open", noting)
    device_files.access(str(tmp_path))
    monkeypatch.undo()
    assert [flags & (os.O_RDWR | os.O_WRONLY | os.O_CLOEXEC) for flags in asked] == [os.O_RDWR | os.O_CLOEXEC]
    assert not asked[0] & (os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    assert set(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root opens files of any mode")
def test_a_mode_that_forbids_writing_is_told(tmp_path: Path) -> None:
    place = folder(tmp_path, "uverbs0")
    (place / "uverbs0").chmod(stat.S_IRUSR)
    assert tried(tmp_path) == {"uverbs0": "EACCES"}


def test_the_verbs_child_says_it_with_and_without_a_library(tmp_path: Path) -> None:
    folder(tmp_path, "uverbs0")
    said: dict[str, object] = {}
    library = stand_in([])
    verbs.ask(said.update, lambda _name, use_errno: library, str(tmp_path))
    assert said["access"] == [{"name": "uverbs0", "access": "ok"}]
    assert "mtus" in said

    def absent(_name: str, use_errno: bool) -> object:
        raise OSError("cannot open shared object file")

    said.clear()
    verbs.ask(said.update, absent, str(tmp_path))
    assert said["access"] == [{"name": "uverbs0", "access": "ok"}]
    assert "absent" in said


def test_a_child_that_said_nothing_leaves_its_reason() -> None:
    assert verbs.access_fact({}, "no answer within 3 s") == {"unknown": "no answer within 3 s"}
    assert verbs.access_fact({"access": []}, "x") == []
