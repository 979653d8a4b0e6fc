"""What a bench can be asked on two nodes of the lab: events, a killed run taken up, current settings, limits."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.model.run import Run
from fabricdoc.store import RunStore
from tests.lab.marked import ROOT, Command, tiny_profile

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")


def words(lab: Lab, folder: Path, *more: str) -> list[str]:
    nodes = ",".join(f"{node.name}={node.target}" for node in lab.nodes)
    named = [
        "--nodes",
        nodes,
        "--ports",
        ",".join(lab.nodes[0].ports),
        "--profile",
        tiny_profile(folder),
        "--sizes",
        "8",
    ]
    return ["bench", *named, "--both-nics", "--store", str(folder / "runs.sqlite"), *more]


def said(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder)}
    argv = [sys.executable, "-m", "fabricdoc", *command]
    return subprocess.run(
        argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False
    )


def stored(folder: Path) -> Run:
    with RunStore.open(folder / "runs.sqlite") as store:
        return store.load()


def test_events_come_a_line_each_and_the_verdict_last_with_several_ranks_on_a_node_too(
    lab: Lab, tmp_path: Path
) -> None:
    done = said(tmp_path, *words(lab, tmp_path, "--blocks", "1", "--json-lines", "--ranks-per-node", "2"))
    assert done.returncode == 3, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["schema"] for line in lines[:-1]] == ["fabricdoc/event/1"] * (len(lines) - 1)
    assert lines[-1]["schema"] == "fabricdoc/verdict/1"
    assert [line["event"] for line in (lines[0], lines[-2])] == ["plan", "ended"]
    run = stored(tmp_path)
    ended = [line["launch"] for line in lines if line.get("event") == "launch-ended"]
    assert [launch["number"] for launch in ended] == [launch.number for launch in run.launches]
    assert lines[0]["plan"]["seed"] == run.plan.seed
    assert [(one.node, one.local_rank) for one in run.plan.ranks] == [
        (node.name, local) for node in lab.nodes for local in (0, 1)
    ]
    well = [one for one in run.launches if one.candidate != "default"]
    assert [one.reason for one in well] == [""] * len(well)
    assert all(cell.correct for one in well for cell in one.cells)


def without_blocks(command: Sequence[str]) -> list[str]:
    """The words of a bench without its number of blocks."""
    place = command.index("--blocks")
    return [*command[:place], *command[place + 2 :]]


def test_a_run_that_was_killed_goes_on_to_the_same_plan(lab: Lab, tmp_path: Path) -> None:
    command = Command(
        words(lab, tmp_path, "--blocks", "1", "--seed", "11", "--json-lines"), XDG_STATE_HOME=str(tmp_path)
    )
    command.search_begins(120)
    command.process.kill()
    command.process.communicate(timeout=60)
    before = stored(tmp_path)
    assert len(before.launches) >= 4, "the proofs"
    store = ("--store", str(tmp_path / "runs.sqlite"))
    refused = said(tmp_path, "bench", "--resume", before.id, "--blocks", "6", *store)
    assert refused.returncode == 2
    assert "--blocks is part of the stored plan" in refused.stderr
    done = said(tmp_path, "bench", "--resume", before.id, *store)
    assert done.returncode == 3, done.stderr
    more, base = done.stderr.partition("next, to measure the blocks that a verdict needs:")[2].split("next, to ")
    asked = more.replace("\\\n", " ")
    assert shlex.split(asked) == ["fabricdoc", *without_blocks(before.command), "--blocks", "6"]
    keep = shlex.split(base.partition("cables prove:")[2].replace("\\\n", " "))
    kept = said(tmp_path, *keep[1:])
    assert (kept.returncode, "export-env -o ." in kept.stderr) == (0, True), kept.stderr
    exported = said(tmp_path, "export-env", "--node", lab.nodes[0].name, *store)
    assert f"GLOO_SOCKET_IFNAME={lab.nodes[0].ports[0]}" in exported.stdout.replace("'", ""), exported.stderr
    after = stored(tmp_path)
    assert (after.status, after.plan) == ("complete", before.plan)
    assert after.launches[: len(before.launches)] == before.launches
    assert [one.number for one in after.launches] == list(range(1, len(after.launches) + 1))
    again = said(tmp_path, "bench", "--resume", before.id, *store)
    assert "is complete" in again.stderr


def test_what_a_process_runs_with_today_is_read_on_every_node(lab: Lab, tmp_path: Path) -> None:
    port = lab.nodes[0].ports[0]
    env = {"PATH": os.environ["PATH"], "GLOO_SOCKET_IFNAME": port, "HF_TOKEN": "secret", "NCCL_DEBUG": "TRACE"}
    code = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdin=subprocess.PIPE) as server:
        done = said(tmp_path, *words(lab, tmp_path, "--current", f"pid:{server.pid}", "--dry-run", "--json"))
        assert server.stdin is not None
        server.stdin.close()
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)["plan"]
    (current,) = [one for one in plan["candidates"] if one["role"] == "current"]
    assert current["variables"] == {"GLOO_SOCKET_IFNAME": port}
    assert "NCCL_DEBUG is not taken over" in done.stderr
    assert "secret" not in done.stdout + done.stderr


def test_what_can_not_be_measured_is_refused_before_a_node_is_asked(lab: Lab, tmp_path: Path) -> None:
    foreign = said(tmp_path, *words(lab, tmp_path, "--candidates", "roce", "--backend", "gloo"))
    assert (foreign.returncode, "roce holds candidates for nccl" in foreign.stderr) == (2, True)
    assert not (tmp_path / "runs.sqlite").exists()
