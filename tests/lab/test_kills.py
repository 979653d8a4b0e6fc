"""kill -9 of each kind of process of a real bench, in the middle of a launch: no orphan, no finished launch lost."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.probes.leftovers import read
from fabricdoc.store import RunStore
from tests.lab.marked import Command, namespaces_alive, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")


def bench(lab: Lab, folder: Path) -> Command:
    nodes = ",".join(f"{node.name}={node.target}" for node in lab.nodes)
    words = ["bench", "--nodes", nodes, "--ports", ",".join(lab.nodes[0].ports), "--sizes", "8,1048576"]
    words += ["--both-nics"]
    return Command([*words, "--blocks", "30", "--store", str(folder / "runs.sqlite")], XDG_STATE_HOME=str(folder))


def kind_of(command: Command, pid: int) -> str:
    """controller, agent (a child of it), rank (a child of an agent with a session of its own), or something else."""
    one = read(pid)
    if one is None or one.state in "ZX":
        return "over"
    if pid == command.process.pid:
        return "controller"
    if one.parent == command.process.pid:
        return "agent"
    parent = read(one.parent)
    ours = parent is not None and parent.parent == command.process.pid
    return "rank" if ours and one.session == pid else "other"


def victim(command: Command, kind: str, chance: random.Random) -> int:
    """One process of that kind, once there is one."""
    found: list[int] = []

    def there() -> bool:
        found[:] = [pid for pid in command.pids() if kind_of(command, pid) == kind]
        return bool(found)

    wait_until(there, 60, f"a {kind} lives")
    return chance.choice(sorted(found))


def settled(command: Command, lab: Lab) -> None:
    """Nothing of the command lives, and both nodes still do."""
    wait_until(lambda: not command.pids(), 20, f"processes {command.pids()} end")
    nodes = {str(Path(f"/proc/{node.pid}/ns/net").readlink()) for node in lab.nodes}
    assert namespaces_alive(nodes) == nodes


def stored(folder: Path) -> list[tuple[str, str]]:
    run = RunStore.open(folder / "runs.sqlite").load()
    return [(launch.candidate, launch.status) for launch in run.launches]


def test_a_controller_that_is_killed_leaves_its_launches_and_no_process(lab: Lab, tmp_path: Path) -> None:
    command = bench(lab, tmp_path)
    command.read_until(" block ", 150)
    kept = stored(tmp_path)
    victim(command, "rank", random.Random(1))
    os.kill(command.process.pid, signal.SIGKILL)
    command.process.communicate(timeout=60)
    settled(command, lab)
    assert stored(tmp_path)[: len(kept)] == kept
    assert RunStore.open(tmp_path / "runs.sqlite").load().status == "interrupted"


@pytest.mark.parametrize("kind", ["agent", "rank"])
def test_a_run_goes_on_without_a_process_that_is_killed(kind: str, lab: Lab, tmp_path: Path) -> None:
    """At a moment drawn at random: what was stored before stays, that launch is failed, the next is whole."""
    command, chance = bench(lab, tmp_path), random.Random(f"kill {kind}")
    command.read_until(" block ", 150)
    kept = stored(tmp_path)
    time.sleep(chance.uniform(0, 1.5))
    os.kill(victim(command, kind, chance), signal.SIGKILL)
    wait_until(lambda: went_on(tmp_path, len(kept)), 120, "a launch failed and another was made")
    assert stored(tmp_path)[: len(kept)] == kept
    os.kill(command.process.pid, signal.SIGINT)
    command.process.communicate(timeout=60)
    settled(command, lab)


def went_on(folder: Path, since: int) -> bool:
    """Whether a launch failed after `since` and one that came later was whole."""
    later = [status for _, status in stored(folder)[since:]]
    return "failed" in later and "ok" in later[later.index("failed") :]
