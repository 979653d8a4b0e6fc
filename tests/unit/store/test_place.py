"""Where the store is, and that under sudo it is the calling user's."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from fabricdoc.errors import StoreError
from fabricdoc.store import RunStore, default_path
from fabricdoc.store import place as subject

pytestmark = pytest.mark.unit

NOBODY = pwd.getpwuid(65534)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_default_path_follows_xdg() -> None:
    assert default_path({"XDG_STATE_HOME": "/var/tmp/state"}) == Path("/var/tmp/state/fabricdoc/runs.sqlite")


def test_a_relative_xdg_folder_is_ignored_as_the_specification_says() -> None:
    environ = {"XDG_STATE_HOME": "state", "HOME": "/home/somebody"}
    assert default_path(environ) == Path("/home/somebody/.local/state/fabricdoc/runs.sqlite")


def test_a_home_is_needed_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 3999999999)
    assert default_path({"HOME": "/given"}) == Path("/given/.local/state/fabricdoc/runs.sqlite")
    with pytest.raises(StoreError, match="user 3999999999 has no HOME") as caught:
        default_path({})
    assert "--store" in caught.value.fix


@as_root
def test_default_path_under_sudo_is_in_the_callers_home() -> None:
    environ = {"SUDO_UID": "65534", "SUDO_USER": NOBODY.pw_name}
    assert default_path(environ) == Path(NOBODY.pw_dir) / ".local/state/fabricdoc/runs.sqlite"


@as_root
def test_everything_made_under_sudo_is_the_callers(place: Path, monkeypatch: pytest.MonkeyPatch, run_of) -> None:
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_USER", NOBODY.pw_name)
    with RunStore.open(place / "new/state/runs.sqlite", write=True) as store:
        store.begin(run_of())
        made = sorted((place / "new").rglob("*"))
        owners = {path.name: (path.lstat().st_uid, path.lstat().st_gid) for path in made}
    assert set(owners) == {"state", "runs", "run-1.lock", "runs.sqlite", "runs.sqlite-wal", "runs.sqlite-shm"}
    assert set(owners.values()) == {(NOBODY.pw_uid, NOBODY.pw_gid)}
    assert (place / "new").lstat().st_uid == NOBODY.pw_uid
    assert place.lstat().st_uid == 0, "a folder that was there is not ours to give away"


@as_root
def test_the_caller_can_go_on_without_sudo(place: Path, monkeypatch: pytest.MonkeyPatch, run_of, nobody) -> None:
    path = place / "new/runs.sqlite"
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_USER", NOBODY.pw_name)
    with RunStore.open(path, write=True) as store:
        store.begin(run_of())
        store.finish("run-1", "complete")

    def go_on() -> None:
        with RunStore.open(path, write=True) as again:
            again.begin(run_of("run-2"))

    assert nobody(go_on) == ("", "", "")


@as_root
def test_giving_away_never_follows_a_link(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, link = place / "target", place / "link"
    target.touch()
    link.symlink_to(target)
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_USER", NOBODY.pw_name)
    subject.give_away(link)
    assert (target.stat().st_uid, link.lstat().st_uid) == (0, 65534)


def test_new_files_and_folders_are_private(place: Path) -> None:
    subject.make_folder(place / "a/b")
    subject.make_file(place / "a/b/file")
    assert [(place / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/file")] == [0o700, 0o700, 0o600]


def test_making_what_is_there_changes_nothing(place: Path) -> None:
    (place / "file").write_text("kept")
    subject.make_file(place / "file")
    subject.make_folder(place)
    assert (place / "file").read_text() == "kept"
