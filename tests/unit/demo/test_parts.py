"""The demo's own parts: its folder, how GPUs are shared, and the guard of the MPS daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.demo import run
from fabricdoc.demo.gpu import GpuShare
from fabricdoc.demo.leave import Folder
from fabricdoc.demo.mps_guard import children, environment
from fabricdoc.errors import InconclusiveError, ToolError

pytestmark = pytest.mark.unit

GUARD = Path(__file__).resolve().parents[3] / "fabricdoc" / "demo" / "mps_guard.py"


def test_documents_end_with_a_newline_and_are_listed_in_order(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "new" / "demo")
    folder.leave("a.json", "{}")
    folder.leave("b.env", "X=1\n")
    assert [path.name for path in folder.left] == ["a.json", "b.env"]
    assert (folder.path / "a.json").read_text() == "{}\n"
    assert sorted(path.name for path in folder.path.iterdir()) == ["a.json", "b.env"]


def test_a_folder_that_can_not_be_written_is_found_before_anything_starts(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(ToolError) as caught:
        Folder(blocked / "demo")
    assert "-o DIR" in caught.value.fix


def test_one_gpu_is_shared_through_mps_and_two_are_one_each() -> None:
    assert GpuShare().environment(1) == {}
    assert GpuShare(gpus=2).environment(1) == {"CUDA_VISIBLE_DEVICES": "1"}
    shared = GpuShare(gpus=1, mps_folder="/tmp/m").environment(1)
    assert shared == {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/m", "CUDA_VISIBLE_DEVICES": "0"}


def test_the_daemon_keeps_to_its_own_folder() -> None:
    env = environment("/tmp/m")
    assert (env["CUDA_MPS_PIPE_DIRECTORY"], env["CUDA_MPS_LOG_DIRECTORY"]) == ("/tmp/m", "/tmp/m")


def test_children_are_read_from_proc() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in children(os.getpid())
        assert child.stdin is not None
        child.stdin.close()


def fake_daemon(folder: Path, script: str) -> dict[str, str]:
    """A stand-in for the daemon, which exists only beside an NVIDIA driver."""
    program = folder / "nvidia-cuda-mps-control"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def guard(folder: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(GUARD), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )


def test_the_guard_starts_the_daemon_and_quits_it_when_its_stdin_ends(tmp_path: Path) -> None:
    script = f'if [ "$1" = -d ]; then echo start >> {tmp_path}/said; else cat >> {tmp_path}/said; fi'
    process = guard(tmp_path, fake_daemon(tmp_path, script))
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    process.stdin.close()
    assert process.wait(20) == 0
    assert (tmp_path / "said").read_text() == "start\nquit\n"


def test_a_daemon_that_refuses_is_one_line_of_reason(tmp_path: Path) -> None:
    env = fake_daemon(tmp_path, 'if [ "$1" = -d ]; then echo "no GPU here" >&2; exit 3; fi')
    process = guard(tmp_path, env)
    out, _ = process.communicate(input="", timeout=20)
    assert out == "no GPU here\n"
    assert process.returncode == 1


def test_without_torch_the_demo_says_so_before_it_starts_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "find_spec", lambda _: None)
    with pytest.raises(ToolError) as caught:
        run.run_demo(run.DemoRequest(folder=tmp_path), screen=None)  # type: ignore[arg-type]
    assert caught.value.id == "torch-missing"
    assert "make demo" in caught.value.fix


def measured(plan_blocks: int, preset: object = None) -> Any:
    plan = SimpleNamespace(blocks=plan_blocks)
    verdict = SimpleNamespace(reason="too noisy")
    return SimpleNamespace(run=SimpleNamespace(plan=plan), recommended=SimpleNamespace(verdict=verdict, preset=preset))


def test_a_machine_too_noisy_for_a_verdict_is_shown_the_rest_of_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    screen = SimpleNamespace(notes=said.extend)
    monkeypatch.setattr(run, "build_preset", lambda *_: "base's own lines")
    assert run._preset(screen, measured(6), None) == "base's own lines"  # type: ignore[arg-type]
    assert "too noisy" in said[0]
    assert run._preset(screen, measured(6, "the verdict's"), None) == "the verdict's"  # type: ignore[arg-type]


def test_with_too_few_blocks_a_demo_says_how_many_it_takes() -> None:
    with pytest.raises(InconclusiveError) as told:
        run._preset(SimpleNamespace(), measured(2), None)  # type: ignore[arg-type]
    assert told.value.fix == "fabricdoc demo --blocks 6"
