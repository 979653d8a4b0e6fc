"""The ends of a lab: whatever ends it or its opener, no process and no namespace is left."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import ToolError
from fabricdoc.lab import LabSpec, open_lab

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
GONE_S = 10.0

Watch = Callable[[list[int]], Any]
Pauses = Callable[[str], set[int]]
OPENER = """
import json, signal, sys
from fabricdoc.lab import LabSpec, open_lab
with open_lab(LabSpec(nodes=tuple(sys.argv[1:]))) as lab:
    print(json.dumps([lab.holder, *(node.pid for node in lab.nodes)]), flush=True)
    signal.pause()
"""


def _members(pids: list[int]) -> set[int]:
    """Every process that holds one of these processes' namespaces that are not ours too."""
    kinds = ("net", "mnt", "uts")
    wanted = {Path(f"/proc/{pid}/ns/{kind}").readlink() for pid in pids for kind in kinds}
    wanted -= {Path(f"/proc/self/ns/{kind}").readlink() for kind in kinds}
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            held = {(folder / "ns" / kind).readlink() for kind in kinds}
        except OSError:
            continue
        if held & wanted:
            found.add(int(folder.name))
    return found


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def opener() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process (own process group) that opens a lab and waits in it."""
    started: list[subprocess.Popen[str]] = []

    def start(*names: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OPENER, *(names or ("alpha", "beta"))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _opened(process: subprocess.Popen[str]) -> list[int]:
    """The pids of an opener's lab: holder first."""
    assert process.stdout is not None
    pids: list[int] = json.loads(process.stdout.readline())
    return pids


def test_the_end_of_the_block_leaves_nothing(watch: Watch) -> None:
    with open_lab() as lab:
        pids = [lab.holder, *(node.pid for node in lab.nodes)]
        assert _members(pids) == set(pids)
        watched = watch(pids)
    watched.wait_gone(0)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_block_leaves_nothing_and_goes_on(error: type[BaseException], watch: Watch) -> None:
    watched = None
    with pytest.raises(error), open_lab() as lab:
        watched = watch([lab.holder, *(node.pid for node in lab.nodes)])
        raise error
    assert watched is not None
    watched.wait_gone(0)


def test_kill_9_of_the_opener_leaves_nothing(opener: Callable[..., subprocess.Popen[str]], watch: Watch) -> None:
    process = opener()
    pids = _opened(process)
    assert _members(pids) == set(pids)
    mounts = Path("/proc/self/mountinfo").read_text().count("nsfs")
    watched = watch(pids)
    process.kill()
    watched.wait_gone()
    assert Path("/proc/self/mountinfo").read_text().count("nsfs") == mounts


def test_kill_9_leaves_nothing_even_when_a_fork_still_holds_the_openers_pipes(watch: Watch) -> None:
    code = OPENER.replace("    signal.pause()", "    import os\n    os.fork() or signal.pause()\n    signal.pause()")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "alpha", "beta"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    pids = _opened(process)
    watched = watch(pids)
    forked = [pid for pid in _children(process.pid) if pid != pids[0]]
    process.kill()
    try:
        watched.wait_gone()
    finally:
        for pid in forked:
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def test_kill_9_of_the_holder_takes_its_nodes_along(opener: Callable[..., subprocess.Popen[str]], watch: Watch) -> None:
    pids = _opened(opener())
    watched = watch(pids)
    os.kill(pids[0], signal.SIGKILL)
    watched.wait_gone()


def test_the_death_of_one_node_ends_the_lab(opener: Callable[..., subprocess.Popen[str]], watch: Watch) -> None:
    pids = _opened(opener())
    watched = watch(pids)
    os.kill(pids[2], signal.SIGKILL)
    watched.wait_gone()


def test_ctrl_c_ends_opener_and_lab(opener: Callable[..., subprocess.Popen[str]], watch: Watch) -> None:
    process = opener()
    pids = _opened(process)
    watched = watch(pids)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=GONE_S)
    assert "KeyboardInterrupt" in said
    watched.wait_gone(0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_signal_at_any_moment_of_the_bring_up_leaves_nothing(
    number: signal.Signals, opener: Callable[..., subprocess.Popen[str]], pauses: Pauses
) -> None:
    name = uuid.uuid4().hex[:8]
    holders: set[int] = set()
    for delay in (0.1, 0.2, 0.3, 0.4, 0.6):
        process = opener(f"{name}a", f"{name}b")
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            holders |= set(_children(process.pid))
            os.killpg(process.pid, number)
        _wait_for_end(process, number)
    end = time.monotonic() + GONE_S
    while (left := pauses(name) | {pid for pid in holders if _is_holder(pid)}) and time.monotonic() < end:
        select.select([], [], [], 0.05)
    assert not left
    assert holders, "no kill met a bring-up"


def _wait_for_end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Python loses an interrupt that comes while a finalizer runs, and says so: then it is pressed again."""
    try:
        process.communicate(timeout=GONE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, number)
        process.communicate(timeout=GONE_S)


def _is_holder(pid: int) -> bool:
    try:
        return b"fabricdoc.lab.holder" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_failed_bring_up_is_a_tool_error_with_a_fix_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    def no_pyroute2() -> list[str]:
        return [str(ROOT), *(entry for entry in sys.path if entry and "site-packages" not in entry)]

    monkeypatch.setattr("fabricdoc.lab.opening.module_path", no_pyroute2)
    name = uuid.uuid4().hex[:8]
    with pytest.raises(ToolError) as caught, open_lab(LabSpec(nodes=(f"{name}a", f"{name}b"))):
        pytest.fail("the lab opened")
    assert (caught.value.id, caught.value.fix) == ("no-pyroute2", "pip install pyroute2")
    assert not pauses(name)


def test_a_bring_up_that_hangs_is_ended_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.lab.opening.BRING_UP_S", 0.05)
    before = time.monotonic()
    with pytest.raises(ToolError) as caught, open_lab():
        pytest.fail("the lab opened in 50 ms")
    assert caught.value.id == "lab-deadline"
    assert caught.value.fix
    assert time.monotonic() - before < 60


def test_blocked_and_ignored_signals_of_the_caller_do_not_reach_the_lab() -> None:
    code = (
        "import signal, json\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM})\n"
        "from fabricdoc.lab import open_lab\n"
        "with open_lab() as lab: print(lab.holder, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, cwd=ROOT, check=True
    )
    assert not Path(f"/proc/{int(done.stdout)}").exists()
    assert done.stderr == ""
