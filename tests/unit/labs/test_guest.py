"""A guest's undoing: what a test said how to undo comes first, the last of it first, and only once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.labs.guest import Guest
from tests.labs.seed import ALPHA

pytestmark = pytest.mark.unit


class Told(Guest):
    """A guest that keeps what it is asked instead of asking anybody."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ALPHA, folder, folder / "config")
        self.asked: list[str] = []

    def ask(self, script: str, limit_s: float = 0.0) -> str:
        self.asked.append(script)
        return ""


def test_what_was_done_last_is_undone_first(tmp_path: Path) -> None:
    guest = Told(tmp_path)
    guest.do("one", undo="undo one")
    guest.do("two")
    guest.do("three", undo="undo three")
    assert guest.changed
    guest.restore()
    assert guest.asked[:3] == ["one", "two", "three"]
    lines = guest.asked[3].splitlines()
    assert lines[:4] == ["set +e", "undo three", "undo one", "set -e"]
    assert lines[4].startswith("/lab/healthy @")
    assert not guest.changed


def test_it_is_undone_once(tmp_path: Path) -> None:
    guest = Told(tmp_path)
    guest.do("one", undo="undo one")
    guest.restore()
    guest.do("two")
    guest.restore()
    assert "undo one" not in guest.asked[-1]


def test_what_a_node_runs_with_is_restored_too(tmp_path: Path) -> None:
    guest = Told(tmp_path)
    plain = guest.spec
    guest.run_with(NCCL_HOSTID="one")
    guest.run_python_through('exec python3 "$@"')
    assert guest.changed and guest.spec != plain
    guest.restore()
    assert guest.spec == plain


def test_a_script_that_fails_is_undone_all_the_same(tmp_path: Path) -> None:
    class Failing(Told):
        def ask(self, script: str, limit_s: float = 0.0) -> str:
            super().ask(script, limit_s)
            assert script != "half", "ended with 1"
            return ""

    guest = Failing(tmp_path)
    with pytest.raises(AssertionError):
        guest.do("half", undo="undo half")
    guest.restore()
    assert "undo half" in guest.asked[-1]


@pytest.mark.parametrize(
    ("said", "logins"),
    [("kex_exchange_identification: read: Connection reset by peer", 3), ("sh: 1: nonsense: not found", 1)],
)
def test_a_login_that_broke_before_it_began_is_tried_again_and_nothing_else_is(
    said: str, logins: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh, count = tmp_path / "ssh", tmp_path / "count"
    ssh.write_text(
        f'#!/bin/sh\necho x >> {count}\n[ $(wc -l < {count}) -ge 3 ] && exec cat\necho "{said}" >&2\nexit 255\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    guest = Guest(ALPHA, tmp_path, tmp_path / "config")
    if logins == 1:
        with pytest.raises(AssertionError, match="nonsense"):
            guest.ask("echo")
    else:
        assert guest.ask("echo") == "echo"
    assert len(count.read_text().split()) == logins
