"""A hostile surrounding: full, closed and vanished streams, no home, no folder, no rights, faults of our own.

Whatever it is: a status of the table, one clear line, no traceback, and with --json one document where one can be.
"""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from fabricdoc.cli import main, program, terminal
from fabricdoc.errors import ExitStatus

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
DEEP = "a=" + "[" * 5000 + "]" * 5000
COMMANDS = {
    "help": ["--help"],
    "version": ["--version"],
    "scan": ["scan"],
    "scan-json": ["scan", "--json"],
    "list": ["runs", "list"],
    "error": ["gate", "--preset", "absent.toml"],
    "error-json": ["gate", "--preset", "absent.toml", "--json"],
}


def shell(line: str, words: Sequence[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which "$@" is the command; its working folder, state and configuration are `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, "-m", "fabricdoc", *words],
        cwd=folder,
        env=environment | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def no_fuss(done: subprocess.CompletedProcess[str]) -> bool:
    text = done.stdout + done.stderr
    return "Traceback" not in text and "Exception ignored" not in text and "a fault in fabricdoc" not in text


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_behind_stdout(name: str, tmp_path: Path) -> None:
    done = shell('"$@" >/dev/full', COMMANDS[name], tmp_path)
    assert no_fuss(done), done.stderr
    assert done.returncode == (2 if "error" in name else 4)
    assert done.stderr.strip()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_went_away(name: str, tmp_path: Path) -> None:
    done = shell('set -o pipefail; "$@" | true', COMMANDS[name], tmp_path)
    assert no_fuss(done), done.stderr
    assert done.returncode == (2 if "error" in name else 0)


@pytest.mark.parametrize("name", ["scan-json", "error-json"])
@pytest.mark.parametrize("line", ['"$@" 2>/dev/full', '"$@" 2>&-', '"$@" <&-', '"$@" <&- 2>&-'])
def test_what_becomes_of_stderr_and_stdin_does_not_matter(line: str, name: str, tmp_path: Path) -> None:
    done = shell(line, COMMANDS[name], tmp_path)
    assert no_fuss(done), done.stderr
    assert done.returncode == (2 if "error" in name else 0)
    assert json.loads(done.stdout)["schema"]


def test_with_every_stream_closed_no_file_takes_their_numbers(tmp_path: Path) -> None:
    done = shell('"$@" <&- >&- 2>&-', ["recommend"], tmp_path)
    assert done.returncode == 2
    assert not list(tmp_path.rglob("*.sqlite")), "a store that isn't there is not made by reading it"


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    for words, status in ((["scan", "--json"], 0), (["scan", "--nodes", "a=local", "--json"], 0), (["demo"], 4)):
        done = shell('mkdir gone && cd gone && rmdir ../gone && "$@"', words, tmp_path)
        assert no_fuss(done), done.stderr
        assert done.returncode == status, done.stderr


@pytest.mark.parametrize(
    ("words", "status", "fix"),
    [
        (["scan"], 0, ""),
        (["runs", "list"], 4, "--store"),
        (["recommend"], 4, "HOME"),
        (["lab", "list"], 4, "XDG_STATE_HOME"),
    ],
)
def test_a_user_without_a_home(
    words: list[str],
    status: int,
    fix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def unknown(uid: int) -> NoReturn:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert main([*words, "--json"]) == status
    captured = capsys.readouterr()
    assert fix in json.loads(captured.out).get("fix", "")
    assert "a fault in fabricdoc" not in captured.err


def test_a_screen_that_does_not_work_leaves_one_plain_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*, as_json: bool) -> NoReturn:
        raise ModuleNotFoundError("No module named 'rich'")

    monkeypatch.setattr(terminal, "screen", broken)
    assert main(["scan", "--nodes", "-x"]) == ExitStatus.USAGE
    assert capfd.readouterr().err == "fabricdoc: can't read the node '-x': a node can't start with '-'\n"


@pytest.mark.parametrize(
    "words",
    [
        ["gate", "--preset", "deep.toml"],
        ["export-env", "deep.toml"],
        ["scan"],
        ["recommend", "--presets", "nowhere"],
        ["bench", "--presets", "nowhere"],
        ["bench", "--backend", "mpi"],
        ["bench", "--sizes", "9" * 400],
        ["bench", "--budget", "9" * 400 + "h"],
        ["bench", "--master-addr", "a;b"],
    ],
)
def test_hostile_words_and_files_are_usage(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path("deep.toml").write_text(DEEP)
    if words == ["scan"]:
        Path("fabric.toml").write_text(DEEP)
    assert main([*words, "--json"]) == ExitStatus.USAGE
    captured = capsys.readouterr()
    assert json.loads(captured.out)["status"] == 2
    assert "Traceback" not in captured.err


def test_a_fault_of_ours_is_a_failure_with_its_place_and_never_not_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_arguments: list[str]) -> int:
        raise KeyError("nodes\nand more")

    monkeypatch.setattr(program, "_program", broken)
    assert main(["scan", "--json"]) == ExitStatus.FAILED
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["id"] == "fault"
    assert "KeyError in cli/program.py:" in document["message"]
    assert "Traceback" not in captured.err


def test_the_system_s_own_words_are_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_arguments: list[str]) -> int:
        raise OSError(24, "Too many open files", "/dev/null")

    monkeypatch.setattr(program, "_program", broken)
    assert main(["scan"]) == ExitStatus.FAILED
    assert "Too many open files: /dev/null" in capsys.readouterr().err


def test_an_interrupt_is_130_with_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_arguments: list[str]) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return 0

    monkeypatch.setattr(program, "_program", stopped)
    assert main(["scan", "--json"]) == ExitStatus.INTERRUPTED
    assert json.loads(capsys.readouterr().out)["status"] == 130


def test_after_the_answer_an_error_writes_no_second_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered(_arguments: list[str]) -> int:
        terminal.screen(as_json=True).written([Path("a")])
        raise KeyboardInterrupt

    monkeypatch.setattr(program, "_program", answered)
    assert main(["scan", "--json"]) == ExitStatus.INTERRUPTED
    captured = capsys.readouterr()
    assert json.loads(captured.out)["files"] == ["a"]
    assert "stopped" in captured.err
