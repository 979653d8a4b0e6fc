"""A bench on nodes that are not its own: however it ends, the nodes stay as they were and the samples are kept."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.store import RunStore
from tests.lab.marked import ROOT, Command, namespaces_alive, tiny_profile, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

HOLD = """
import sys
sys.path.insert(0, sys.argv[1])
from fabricdoc.probes.claim import Claim
claim = Claim()
print(claim.take(0), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")


def bench(lab: Lab, folder: Path, *more: str) -> Command:
    nodes = ",".join(f"{node.name}={node.target}" for node in lab.nodes)
    words = [
        "bench",
        "--json-lines",
        "--nodes",
        nodes,
        "--ports",
        ",".join(lab.nodes[0].ports),
        "--profile",
        tiny_profile(folder),
        "--sizes",
        "8",
        "--both-nics",
    ]
    return Command([*words, "--store", str(folder / "runs.sqlite"), *more], XDG_STATE_HOME=str(folder))


def ended(command: Command, lab: Lab) -> tuple[str, str]:
    """What it said, once nothing of it lives and both nodes still do."""
    out, err = command.process.communicate(timeout=60)
    wait_until(lambda: not command.pids(), 15, f"processes {command.pids()} end")
    nodes = {str(Path(f"/proc/{node.pid}/ns/net").readlink()) for node in lab.nodes}
    assert namespaces_alive(nodes) == nodes
    assert "Traceback" not in err
    return out, err


@pytest.mark.parametrize(
    "blows",
    [
        (signal.SIGINT, signal.SIGINT, signal.SIGINT),
        (signal.SIGHUP,),
        (signal.SIGTERM, signal.SIGINT),
    ],
)
def test_stopped_it_keeps_its_launches_and_says_so(blows: Sequence[signal.Signals], lab: Lab, tmp_path: Path) -> None:
    command = bench(lab, tmp_path, "--blocks", "30")
    command.search_begins(120)
    for blow in blows:
        os.kill(command.process.pid, blow)
        time.sleep(0.05)
    out, _ = ended(command, lab)
    assert command.process.returncode == 130
    document = json.loads(out.splitlines()[-1])
    run = RunStore.open(tmp_path / "runs.sqlite").load()
    assert (document["id"], document["status"]) == ("stopped", 130)
    assert f"{len(run.launches)} launches measured so far are kept" in document["message"]
    assert f"bench --resume {run.id} --store" in document["fix"]
    assert run.status == "interrupted"
    assert len(run.launches) >= 2


def test_a_store_that_is_removed_ends_the_run_and_the_launch_is_rescued(lab: Lab, tmp_path: Path) -> None:
    command = bench(lab, tmp_path, "--blocks", "30")
    command.search_begins(120)
    (tmp_path / "runs.sqlite").unlink()
    out, _ = ended(command, lab)
    assert command.process.returncode == 4
    message = json.loads(out.splitlines()[-1])["message"]
    assert "was removed or replaced" in message
    rescued = Path(message.rpartition("kept in ")[2])
    assert rescued.parent == tmp_path, "beside the store, not in the working folder"
    assert json.loads(rescued.read_text())["schema"] == "fabricdoc/rescued-launch/1"


def test_a_node_where_another_bench_runs_is_refused(lab: Lab, tmp_path: Path, start_inside) -> None:  # type: ignore[no-untyped-def]
    other = start_inside(lab.nodes[1].pid, HOLD, ROOT)
    assert other.stdout.readline().strip() == "0"
    out, _ = ended(bench(lab, tmp_path, "--blocks", "1"), lab)
    document = json.loads(out.splitlines()[-1])
    assert (document["id"], document["status"]) == ("node-busy", 4)
    assert document["message"].startswith(f"beta: another bench runs there now (pid {other.pid})")
    assert RunStore.open(tmp_path / "runs.sqlite").list_runs() == ()
