"""However the demo ends, nothing of it stays: Ctrl-C and kill -9 in every phase, and what was measured is kept."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabricdoc.store import RunStore
from tests.lab.marked import Command, namespaces_alive, tiny_profile, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

# lines that are always shown; agents start at "bench"
MEASURED = "search block"
PHASES = ["cables", "bench", MEASURED]
SIGNALS = (signal.SIGINT, signal.SIGKILL)


def ended_by(sig: signal.Signals, phase: str, folder: Path) -> Command:
    folder.mkdir()
    command = Command(["demo", "-o", str(folder), "--blocks", "4", "--profile", tiny_profile(folder)])
    command.read_until(phase, 150)
    namespaces = command.namespaces()
    os.kill(command.process.pid, sig)
    command.process.communicate(timeout=60)
    wait_until(lambda: not command.pids(), 15, f"processes {command.pids()} end")
    wait_until(lambda: not namespaces_alive(namespaces), 15, f"namespaces {namespaces} end")
    return command


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="the demo launches gloo ranks")


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_and_kill_9_leave_nothing_but_what_was_measured(phase: str, tmp_path: Path) -> None:
    """Two demos side by side: each waits for its own links and ranks, and finds its own phase."""
    folders = [tmp_path / sig.name for sig in SIGNALS]
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(ended_by, SIGNALS, [phase] * 2, folders))
    assert [one.process.returncode for one in ended] == [130, -signal.SIGKILL]
    if phase != MEASURED:
        return
    stopped, killed = (RunStore.open(folder / "runs.sqlite").load() for folder in folders)
    assert (stopped.status, killed.status) == ("interrupted", "interrupted")
    assert "killed" in killed.reason
    for run in (stopped, killed):
        assert {launch.candidate for launch in run.launches} >= {"base", "default"}
