"""The holder's parts that need no namespaces: its lines, its state file, its death with the parent."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.errors import ToolError
from fabricdoc.lab import holder, kernel, pause
from fabricdoc.lab.holder import _end_pauses, _names_us, _read_line, _wait
from fabricdoc.lab.pause import Pause, await_pause, refusal

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]


def _paused() -> Pause:
    """A real child that only waits."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    return Pause("n", pid, -1)


def _said(text: bytes) -> Pause:
    read_end, write_end = os.pipe()
    os.write(write_end, text)
    os.close(write_end)
    return Pause("beta", 1, read_end)


def test_a_line_is_read_without_touching_the_next() -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"one\ntwo\nrest")
    os.close(write_end)
    assert [_read_line(read_end) for _ in range(4)] == [b"one\n", b"two\n", b"", b""]
    os.close(read_end)


@pytest.mark.parametrize(
    ("text", "named"),
    [(json.dumps({"pid": os.getpid()}), True), ('{"pid": 1}', False), ("{}", False), ("[]", False), ("{", False)],
    ids=["ours", "another pid", "no pid", "no object", "no JSON"],
)
def test_a_state_file_names_us_or_not(tmp_path: Path, text: str, named: bool) -> None:
    file = tmp_path / "lab.json"
    file.write_text(text)
    assert _names_us(file) is named
    file.unlink()
    assert not _names_us(file)


def test_the_wait_ends_with_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    with _stdin(b"", monkeypatch):
        _wait([])


def test_the_wait_ends_with_a_node() -> None:
    child = _paused()
    os.kill(child.pid, signal.SIGKILL)
    with _stdin(None):
        _wait([child])
    _end_pauses([child])


def test_a_kept_wait_ends_when_the_state_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holder, "STATE_CHECK_S", 0.01)
    checks: list[Path] = []

    def named_twice(file: Path) -> bool:
        checks.append(file)
        return len(checks) < 3

    monkeypatch.setattr(holder, "_names_us", named_twice)
    with _stdin(json.dumps({"keep": str(tmp_path / "s.json")}).encode() + b"\n"):
        _wait([])
    assert checks == [tmp_path / "s.json"] * 3


def test_pauses_are_killed_and_reaped() -> None:
    children = [_paused(), _paused()]
    _end_pauses(children)
    assert not any(Path(f"/proc/{child.pid}").exists() for child in children)


class _stdin:
    """Descriptor 0 is a pipe that holds `data` (None: nothing, and it stays open)."""

    def __init__(self, data: bytes | None, _: object = None) -> None:
        self._data = data

    def __enter__(self) -> None:
        self._kept = os.dup(0)
        read_end, self._write_end = os.pipe()
        os.dup2(read_end, 0)
        os.close(read_end)
        if self._data is not None:
            os.write(self._write_end, self._data)
            os.close(self._write_end)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, 0)
        os.close(self._kept)
        if self._data is None:
            os.close(self._write_end)


def test_the_notes_of_a_node_come_through() -> None:
    assert await_pause(_said(b'{"notes": ["a note"]}')) == ("a note",)


@pytest.mark.parametrize(
    ("number", "id"),
    [
        (errno.EPERM, "no-namespaces"),
        (errno.ENOSPC, "no-namespaces"),
        (errno.ENOSYS, "no-namespaces"),
        (errno.ENOMEM, "lab-failed"),
    ],
)
def test_a_refusal_says_what_and_why(number: int, id: str) -> None:
    answer = json.dumps({"errno": number, "doing": "unshare"}).encode()
    with pytest.raises(ToolError) as caught:
        await_pause(_said(answer))
    assert caught.value.id == id
    assert os.strerror(number) in caught.value.message
    assert "beta" in caught.value.message
    assert refusal(OSError(number, os.strerror(number)), "x").id == id


def test_a_node_that_dies_unheard_is_an_error() -> None:
    with pytest.raises(ToolError, match="the process ended"):
        await_pause(_said(b""))


@pytest.mark.long
def test_a_child_whose_parent_is_gone_already_ends_at_once() -> None:
    code = (
        "import sys; from fabricdoc.lab.kernel import die_with_parent; die_with_parent(int(sys.argv[1])); print('on')"
    )
    for parent, lives in ((os.getpid(), True), (1, os.getpid() == 1)):
        done = subprocess.run(
            [sys.executable, "-c", code, str(parent)], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert (done.stdout == "on\n") is lives
        assert (done.returncode == 0) is lives


def test_a_failed_call_carries_its_errno() -> None:
    with pytest.raises(OSError, match="setns") as caught:
        kernel.setns(-1, kernel.CLONE_NEWNET)
    assert caught.value.errno == errno.EBADF
    with pytest.raises(OSError, match="mount /nowhere/x"):
        kernel.mount("none", "/nowhere/x", None, 0)


def test_a_process_can_be_named() -> None:
    code = (
        "from fabricdoc.lab.kernel import set_process_name; set_process_name('node-' + 'x' * 40)\n"
        "print(open('/proc/self/comm').read(), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "node-xxxxxxxxxx\n"


def test_sysfs_is_read_only_where_the_covered_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Found:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr("os.statvfs", lambda path: Found)
    assert pause._sysfs_flags() & kernel.MS_RDONLY
    Found.f_flag = 0
    assert not pause._sysfs_flags() & kernel.MS_RDONLY


def test_the_holder_undoes_what_its_caller_blocked_and_ignored() -> None:
    code = (
        "import signal\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM})\n"
        "from fabricdoc.lab.holder import _own_signals\n"
        "_own_signals()\n"
        "print(*(signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGCHLD, signal.SIGALRM)))\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []), 0 < signal.alarm(0) <= 15, flush=True)\n"
        "signal.raise_signal(signal.SIGTERM)\n"
        "print('not ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split() == ["True", "True", "set()", "True"]
