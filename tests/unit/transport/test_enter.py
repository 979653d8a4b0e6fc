from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.transport.enter import CANT_ENTER, KINDS, NO_COMMAND
from fabricdoc.transport.targets import ENTER

pytestmark = pytest.mark.unit


def enter(place: str, *command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", ENTER, place, "--", *command]
    return subprocess.run(words, capture_output=True, text=True, timeout=20, check=False, cwd=folder)


def test_our_own_namespaces_need_no_entering_and_the_command_takes_over(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.getppid())"
    done = enter(str(os.getpid()), sys.executable, "-c", code, folder=tmp_path)
    assert done.stdout.split() == [str(tmp_path), str(os.getpid())]


def test_the_status_is_the_commands() -> None:
    assert enter(str(os.getpid()), "sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize("place", ["999999999", "not-a-pid", "/no/such/file", "/etc/passwd"])
def test_a_place_that_is_none_is_said(place: str) -> None:
    done = enter(place, "true")
    assert done.returncode == CANT_ENTER
    assert done.stderr.startswith(f"can't enter netns:{place}: ")
    assert done.stderr.count("\n") == 1


def test_a_command_that_is_missing_is_said() -> None:
    done = enter(str(os.getpid()), "/no/such/python3")
    assert (done.returncode, done.stderr) == (NO_COMMAND, "/no/such/python3: No such file or directory\n")


def test_the_user_namespace_is_entered_first_and_the_flags_are_the_kernels() -> None:
    assert [kind for kind, _ in KINDS] == ["user", "mnt", "uts", "net"]
    flags = {
        name: getattr(os, f"CLONE_NEW{word}", None)
        for name, word in (("user", "USER"), ("mnt", "NS"), ("uts", "UTS"), ("net", "NET"))
    }
    assert all(flags[kind] in (None, flag) for kind, flag in KINDS)
