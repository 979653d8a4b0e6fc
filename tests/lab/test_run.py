"""`fabricdoc run` as a user starts it, on the nodes of a lab: a go becomes the command, all else starts nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import Lab, open_lab
from fabricdoc.lab import LabSpec as Spec
from fabricdoc.tuning import preset_to_toml
from tests.lab.cabling import F1, LINK, done
from tests.lab.marked import ROOT
from tests.lab.standing_preset import standing_preset

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

SHOW = """
import json, os, sys
left = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print(json.dumps([dict(os.environ), sys.argv[1:], os.getpid(), left, len(os.listdir("/proc/self/fd"))]))
sys.exit(37)
"""
SET_DOWN = LINK + "ip.link('set', index=at, state=sys.argv[2])"
Inside = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with open_lab(Spec()) as opened:
        yield opened


@pytest.fixture(scope="module")
def preset(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("run") / "preset.toml"
    file.write_text(preset_to_toml(standing_preset(lab)))
    return file


def start(preset: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(preset.parent), **env}
    return subprocess.Popen(
        [sys.executable, "-m", "fabricdoc", "run", "--preset", str(preset), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_a_go_becomes_the_command_with_the_nodes_own_values(preset: Path) -> None:
    """Same process, its words, its environment and nothing on stdout but its own; then its own status."""
    words = ["--node", "beta", "--", sys.executable, "-c", SHOW, "--json", "a b"]
    process = start(preset, *words, GLOO_SOCKET_IFNAME="other", KEPT="1")
    status, out, err = finished(process)
    assert status == 37, err
    environ, argv, pid, children, files = json.loads(out)
    assert (environ["GLOO_SOCKET_IFNAME"], environ["KEPT"]) == (F1, "1")
    assert (argv, pid) == (["--json", "a b"], process.pid)
    assert (children, files) == ([], 4), "nothing of the gate is left: stdin, stdout, stderr and the listing itself"
    assert f"replaced GLOO_SOCKET_IFNAME: was other, is {F1}" in err
    assert any(line.startswith("go: ") for line in err.splitlines())


def test_its_signals_are_the_commands_own(preset: Path) -> None:
    waiting = start(preset, "--node", "alpha", "--", "sh", "-c", "echo up; exec sleep 60")
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == "up\n"
    waiting.send_signal(signal.SIGTERM)
    assert finished(waiting)[0] == -signal.SIGTERM


def test_a_real_fault_starts_nothing_and_after_the_repair_it_starts(
    lab: Lab, preset: Path, tmp_path: Path, inside: Inside
) -> None:
    started = tmp_path / "started"
    words = ["--node", "alpha", "--json", "--", "touch", str(started)]
    done(inside(lab.nodes[1].pid, SET_DOWN, F1, "down"))
    try:
        status, out, _err = finished(start(preset, *words))
    finally:
        done(inside(lab.nodes[1].pid, SET_DOWN, F1, "up"))
    document = json.loads(out)
    assert (status, document["answer"], document["schema"]) == (1, "no-go", "fabricdoc/gate/1")
    assert not started.exists()
    bad = {(one["node"], one["port"]) for one in document["checks"] if one["outcome"] == "differs"}
    assert ("beta", F1) in bad
    assert finished(start(preset, *words))[0] == 0
    assert started.exists()


def test_another_value_is_refused_where_nothing_may_be_replaced(preset: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    words = ["--node", "alpha", "--keep-env", "--", "touch", str(started)]
    status, out, err = finished(start(preset, *words, GLOO_SOCKET_IFNAME="other"))
    assert (status, out) == (1, "")
    assert "GLOO_SOCKET_IFNAME is other" in " ".join(err.split())
    assert not started.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--node", "alpha", "--", "no-such-program"], "no such program"),
        (["--node", "gamma", "--", "true"], "no node 'gamma'"),
        (["--node", "alpha"], "COMMAND"),
        (["--node", "alpha", "--no-gate", "--", "true"], "--no-gate"),
        (["--node", "alpha", "--waive", "carrier", "--", "true"], "gives no reason"),
    ],
)
def test_wrong_words_are_told_before_any_node_is_asked(preset: Path, words: list[str], told: str) -> None:
    status, out, err = finished(start(preset, *words))
    assert (status, out) == (2, "")
    assert told in " ".join(err.split())


def test_a_gate_that_could_not_tell_starts_nothing(preset: Path, tmp_path: Path) -> None:
    """A node that is not there any more: its namespace's process is gone."""
    gone = tmp_path / "gone.toml"
    text = preset.read_text()
    targets = [line for line in text.splitlines() if line.startswith("target = ")]
    gone.write_text(text.replace(targets[1], 'target = "netns:4194303"'))
    started = tmp_path / "started"
    status, _out, _err = finished(start(gone, "--node", "alpha", "--", "touch", str(started)))
    assert status in (3, 4)
    assert not started.exists()
