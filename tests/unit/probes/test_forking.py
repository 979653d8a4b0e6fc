"""Real forks: what the child has, what it has not, and that it never outlives its parent or climbs back into it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricdoc.probes.forking import Forked, fork_rank, import_fds

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
LIMIT_S = 20.0


def finish(forked: Forked) -> tuple[int, str, str]:
    """Wait for the child: (wait status, its events, its log)."""
    os.set_blocking(forked.events_fd, True)
    said = b""
    while chunk := os.read(forked.events_fd, 65536):
        said += chunk
    _, status = os.waitpid(forked.pid, 0)
    log = os.pread(forked.log_fd, 1 << 20, 0).decode()
    for fd in (forked.orders_fd, forked.events_fd, forked.log_fd, forked.stack_fd):
        os.close(fd)
    return status, said.decode(), log


def tell(work: Callable[[], object]) -> Callable[[int, int], int]:
    """An entry that sends what `work` returns as JSON."""

    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(events_fd, json.dumps(work()).encode())
        return 0

    return entry


def test_the_child_has_a_session_and_group_of_its_own() -> None:
    forked = fork_rank(tell(lambda: [os.getpid(), os.getsid(0), os.getpgid(0), os.getppid()]), {}, [])
    status, said, _ = finish(forked)
    assert status == 0
    assert json.loads(said) == [forked.pid, forked.pid, forked.pid, os.getpid()]


def test_its_exit_status_is_the_entrys() -> None:
    status, _, _ = finish(fork_rank(lambda orders, events: 7, {}, []))
    assert os.WEXITSTATUS(status) == 7


def test_an_exception_ends_in_the_log_and_not_in_the_parent() -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        raise KeyboardInterrupt("no way back")

    status, _, log = finish(fork_rank(entry, {}, []))
    assert os.WEXITSTATUS(status) == 1
    assert "KeyboardInterrupt: no way back" in log


def test_the_environment_is_set_for_python_and_for_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    monkeypatch.setenv("NCCL_PROTO", "LL")
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

    def look() -> list[str | None]:
        getenv = ctypes.CDLL(None).getenv
        getenv.restype = ctypes.c_char_p
        names = ("NCCL_ALGO", "NCCL_PROTO", "NCCL_DEBUG", "PYTORCH_CUDA_ALLOC_CONF")
        assert all((getenv(name.encode()) or b"").decode() == os.environ.get(name, "") for name in names)
        return [os.environ.get(name) for name in names]

    env = {"NCCL_PROTO": "LL,Simple", "NCCL_DEBUG": "INFO", "PYTORCH_CUDA_ALLOC_CONF": "x:1"}
    _, said, log = finish(fork_rank(tell(look), env, ["NCCL_ALGO", "NCCL_PROTO", "NEVER_SET"]))
    assert log == ""
    assert json.loads(said) == [None, "LL,Simple", "INFO", None]
    assert os.environ["NCCL_ALGO"] == "Tree", "the agent keeps its own"


def test_it_holds_no_descriptor_of_the_parents() -> None:
    secret_r, secret_w = os.pipe()

    def look() -> list[int]:
        listed = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
        return [fd for fd in listed if os.path.exists(f"/proc/self/fd/{fd}")]  # noqa: PTH110

    forked = fork_rank(tell(look), {}, [])
    _, said, _ = finish(forked)
    fds = set(json.loads(said))
    assert {0, 1, 2} < fds
    assert len(fds) == 6, "stdin, log twice, orders, events, stack"
    assert {secret_r, secret_w}.isdisjoint(fds)
    os.close(secret_r)
    os.close(secret_w)


def test_stdin_is_empty_and_output_of_any_kind_is_the_log() -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        print("from python")
        print("from python's stderr", file=sys.stderr)
        ctypes.CDLL(None).puts(b"from C")
        os.write(1, os.read(0, 10) or b"no input\n")
        return 0

    _, said, log = finish(fork_rank(entry, {}, []))
    assert sorted(log.splitlines()) == ["from C", "from python", "from python's stderr", "no input"]
    assert said == ""


def test_what_was_printed_is_kept_when_the_child_is_killed() -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        ctypes.CDLL(None).puts(b"NCCL INFO a line before the end")
        print("and one of python's \udce9")
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    library = ctypes.CDLL(None)
    stdout = ctypes.c_void_p.in_dll(library, "stdout")
    library.setvbuf(stdout, None, 0, ctypes.c_size_t(0))  # fully, as C does for any file
    try:
        status, _, log = finish(fork_rank(entry, {}, []))
    finally:
        library.setvbuf(stdout, None, 2, ctypes.c_size_t(0))
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert log == "NCCL INFO a line before the end\nand one of python's \\udce9\n"


def test_signals_are_the_defaults_again() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        names = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
        _, said, _ = finish(fork_rank(tell(lambda: [signal.getsignal(n) == signal.SIG_DFL for n in names]), {}, []))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert json.loads(said) == [True, True, True]


def test_the_stack_signal_dumps_into_a_place_of_its_own() -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        os.kill(os.getpid(), signal.SIGUSR1)
        return 0

    forked = fork_rank(entry, {}, [])
    stack_fd = os.dup(forked.stack_fd)
    _, _, log = finish(forked)
    dump = os.pread(stack_fd, 1 << 20, 0).decode()
    os.close(stack_fd)
    assert "most recent call first" in dump
    assert "in entry" in dump
    assert log == ""


def test_orders_reach_the_child() -> None:
    def entry(orders_fd: int, events_fd: int) -> int:
        os.write(events_fd, os.read(orders_fd, 100).upper())
        return 0

    forked = fork_rank(entry, {}, [])
    os.write(forked.orders_fd, b"join")
    assert finish(forked)[1] == "JOIN"


def test_import_descriptors_are_found_in_the_path() -> None:
    assert import_fds(["/proc/self/fd/7", "/usr/lib/python3", "", "/proc/self/fd/x", "/proc/self/fd/12"]) == {7, 12}


def test_killing_the_parent_kills_the_child() -> None:
    program = (
        "import os, time\n"
        "from probes.forking import fork_rank\n"
        "def entry(orders, events):\n    os.write(events, b'up')\n    time.sleep(600)\n    return 0\n"
        "forked = fork_rank(entry, {}, [])\n"
        "os.set_blocking(forked.events_fd, True)\n"
        "os.read(forked.events_fd, 2)\n"
        "print(forked.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert Path(f"/proc/{child}").exists()
        parent.kill()
    end = time.monotonic() + LIMIT_S
    while _alive(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
