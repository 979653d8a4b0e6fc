"""Who is behind sudo, and that files become his."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from fabricdoc.sudo import Owner, give_away, sudo_owner

pytestmark = pytest.mark.unit

NOBODY = pwd.getpwuid(65534)


def test_under_sudo_the_owner_is_the_caller() -> None:
    environ = {"SUDO_UID": "65534", "SUDO_USER": NOBODY.pw_name}
    owner = sudo_owner(environ, euid=0)
    assert owner == Owner(NOBODY.pw_uid, NOBODY.pw_gid, Path(NOBODY.pw_dir))


@pytest.mark.parametrize(
    ("environ", "euid"),
    [
        ({}, 0),
        ({"SUDO_UID": "65534", "SUDO_USER": "x"}, 1000),
        ({"SUDO_UID": "0", "SUDO_USER": "root"}, 0),
        ({"SUDO_UID": "65534"}, 0),
        ({"SUDO_UID": "-1", "SUDO_USER": "x"}, 0),
        ({"SUDO_UID": "٣", "SUDO_USER": "x"}, 0),
        ({"SUDO_UID": "99999999999999999999", "SUDO_USER": "x"}, 0),
        ({"SUDO_UID": "3999999999", "SUDO_USER": "x"}, 0),
    ],
)
def test_nobody_else_owns_it_otherwise(environ: dict[str, str], euid: int) -> None:
    assert sudo_owner(environ, euid) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_becomes_the_callers_and_what_a_link_points_at_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("")
    link.symlink_to(file)
    give_away(link)
    assert link.lstat().st_uid == 0
    monkeypatch.setenv("SUDO_UID", "65534")
    monkeypatch.setenv("SUDO_USER", NOBODY.pw_name)
    give_away(link)
    assert (link.lstat().st_uid, file.stat().st_uid) == (65534, 0)
    give_away(file)
    assert (file.stat().st_uid, file.stat().st_gid) == (65534, NOBODY.pw_gid)
