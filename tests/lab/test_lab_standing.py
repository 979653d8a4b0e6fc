"""Standing labs: they outlive their maker, and only `lab_down` or the loss of what names them ends them."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.lab import LabSpec, LabState, lab_document, lab_down, lab_list, lab_up

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
GONE_S = 10.0

Watch = Callable[[list[int]], Any]
Pauses = Callable[[str], set[int]]


@pytest.fixture
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of the test's own; labs that still stand at its end are ended."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    yield tmp_path
    lab_down()


def _pids(state: LabState) -> list[int]:
    return [state.pid, *(node.pid for node in state.nodes)]


def test_a_standing_lab_outlives_its_maker_and_ends_at_down(
    state_home: Path, inside: Callable[..., subprocess.CompletedProcess[str]], watch: Watch
) -> None:
    code = "from fabricdoc.lab import lab_up, LabSpec; lab_up(LabSpec(nodes=('x', 'y'), rails=1), 'pair')"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=20)
    (state,) = lab_list()
    assert (state.name, state.spec, [node.name for node in state.nodes]) == (
        "pair",
        LabSpec(nodes=("x", "y"), rails=1),
        ["x", "y"],
    )
    assert inside(state.nodes[1].pid, "import socket; print(socket.gethostname())").stdout == "y\n"
    file = state_home / "fabricdoc" / "lab" / "pair.json"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    document = lab_document(lab_list()).model_dump(mode="json")
    assert (document["schema"], document["labs"][0]["nodes"][0]["target"]) == ("fabricdoc/lab/1", state.nodes[0].target)
    watched = watch(_pids(state))
    assert lab_down("pair") == (state,)
    watched.wait_gone(1)
    assert lab_list() == ()
    assert not file.exists()


def test_a_second_lab_of_the_same_name_is_refused_and_the_first_one_stands(state_home: Path, watch: Watch) -> None:
    first = lab_up(LabSpec(rails=1))
    with pytest.raises(UsageError, match="named lab is up already") as caught:
        lab_up(LabSpec(rails=1))
    assert "lab down --name lab" in caught.value.fix
    other = lab_up(LabSpec(rails=1), "other")
    assert lab_list() == (first, other)
    with pytest.raises(UsageError, match="no lab named third") as caught:
        lab_down("third")
    assert "lab, other" in caught.value.fix
    watched = [watch(_pids(state)) for state in (first, other)]
    assert lab_down() == (first, other)
    for each in watched:
        each.wait_gone(1)


def test_the_loser_of_a_race_for_a_name_ends_its_own_lab_only(
    state_home: Path, monkeypatch: pytest.MonkeyPatch, pauses: Pauses
) -> None:
    first = lab_up(LabSpec(rails=1))
    name = uuid.uuid4().hex[:8]
    monkeypatch.setattr("fabricdoc.lab.standing.live_states", lambda folder: ())
    with pytest.raises(UsageError, match="up already"):
        lab_up(LabSpec(nodes=(f"{name}a", f"{name}b"), rails=1))
    monkeypatch.undo()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(state_home))
    assert lab_list() == (first,)
    end = time.monotonic() + GONE_S
    while pauses(name) and time.monotonic() < end:
        select.select([], [], [], 0.05)
    assert not pauses(name)


def test_a_standing_lab_whose_state_file_is_lost_ends_by_itself(state_home: Path, watch: Watch) -> None:
    state = lab_up(LabSpec(rails=1))
    watched = watch(_pids(state))
    (state_home / "fabricdoc" / "lab" / "lab.json").unlink()
    watched.wait_gone()


def test_the_file_of_a_killed_lab_is_cleared(state_home: Path, watch: Watch) -> None:
    state = lab_up(LabSpec(rails=1))
    watched = watch(_pids(state))
    os.kill(state.pid, signal.SIGKILL)
    watched.wait_gone()
    assert lab_list() == ()
    assert list((state_home / "fabricdoc" / "lab").iterdir()) == []


def test_a_maker_killed_before_it_says_keep_leaves_nothing(state_home: Path, watch: Watch) -> None:
    name = uuid.uuid4().hex[:8]
    code = (
        "import sys, time, fabricdoc.lab.standing as s\n"
        "s.HolderProcess.keep = lambda *a: (print(flush=True), time.sleep(60))\n"
        f"s.lab_up(s.LabSpec(nodes=('{name}a', '{name}b'), rails=1))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    process.stdout.readline()
    (state,) = lab_list()
    watched = watch(_pids(state))
    process.kill()
    process.communicate()
    watched.wait_gone()
    assert lab_list() == ()
