"""However the demo ends, nothing of it stays: Ctrl-C and kill -9 in every phase, and what was measured is kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fabricdoc.store import RunStore
from tests.lab.marked import Command, namespaces_alive, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

# lines that are always shown; "bounds" ends the plan, so what follows it at once is the proof round
MEASURED = "search block"
PHASES = ["cables", "bench", "bounds", MEASURED]


def ended_by(sig: signal.Signals, phase: str, folder: Path) -> Command:
    command = Command(["demo", "-o", str(folder), "--blocks", "4"])
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
def test_ctrl_c_leaves_nothing_and_says_so(phase: str, tmp_path: Path) -> None:
    command = ended_by(signal.SIGINT, phase, tmp_path)
    assert command.process.returncode == 130
    if phase == MEASURED:
        run = RunStore.open(tmp_path / "runs.sqlite").load()
        assert run.status == "interrupted"
        assert {launch.candidate for launch in run.launches} >= {"base", "default"}


@pytest.mark.parametrize("phase", PHASES)
def test_kill_9_leaves_nothing(phase: str, tmp_path: Path) -> None:
    command = ended_by(signal.SIGKILL, phase, tmp_path)
    assert command.process.returncode == -signal.SIGKILL
    if phase == MEASURED:
        run = RunStore.open(tmp_path / "runs.sqlite").load()
        assert run.status == "interrupted"
        assert "killed" in run.reason
        assert len(run.launches) >= 2
