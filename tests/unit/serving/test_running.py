"""A running server is found by its pid, a worker's pid or its container, on invented /proc trees and a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import NodeError, UsageError
from fabricdoc.serving import running
from fabricdoc.serving.running import read_inspected, running_container, running_process
from fabricdoc.transport import Said

pytestmark = pytest.mark.unit


def _process(proc: Path, pid: int, words: list[str], parent: int = 1, environ: str = "", group: str = "0::/x") -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_text("\0".join(words) + "\0")
    (folder / "environ").write_text(environ)
    (folder / "stat").write_text(f"{pid} (a) b) S {parent} 1 1")
    (folder / "cgroup").write_text(group)


def test_the_server_itself(tmp_path: Path) -> None:
    _process(tmp_path, 40, ["vllm", "serve", "M", "--tp", "2"], environ="A=1\0SECRET=x=y\0broken")
    found = running_process(40, str(tmp_path))
    assert (found.launch.engine, found.environ, found.root) == ("vllm", {"A": "1", "SECRET": "x=y"}, "")


def test_a_worker_that_renamed_itself_is_part_of_its_parents_server(tmp_path: Path) -> None:
    _process(tmp_path, 40, ["vllm", "serve", "M"])
    _process(tmp_path, 41, ["VLLM::EngineCore"], parent=40)
    _process(tmp_path, 42, ["VLLM::Worker_TP0"], parent=41)
    assert running_process(42, str(tmp_path)).launch.positional == ("M",)


@pytest.mark.parametrize(("pid", "words"), [(9, "no process 9"), (40, "are no vLLM, SGLang or TensorRT-LLM")])
def test_what_is_no_server(tmp_path: Path, pid: int, words: str) -> None:
    _process(tmp_path, 40, ["sleep", "5"])
    with pytest.raises(UsageError, match=words):
        running_process(pid, str(tmp_path))


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    _process(tmp_path, 40, ["a"], parent=41)
    _process(tmp_path, 41, ["b"], parent=40)
    with pytest.raises(UsageError):
        running_process(40, str(tmp_path))


def test_a_real_process() -> None:
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "vllm", "serve", "M", "--tp", "2"]
    environ = os.environ | {"VLLM_ENABLE_ROCE_ALLREDUCE": "1"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"\n"  # it runs, its words are set
            found = running_process(process.pid)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=20)
    assert found.launch.number("--tp") == 2
    assert found.environ["VLLM_ENABLE_ROCE_ALLREDUCE"] == "1"


def _runtime(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Said | NodeError]) -> list[list[str]]:
    asked: list[list[str]] = []

    def output_of(_node: Any, argv: list[str], *, deadline_s: float) -> Said:
        asked.append(argv)
        assert deadline_s > 0
        answer = answers[argv[0]]
        if isinstance(answer, NodeError):
            raise answer
        return answer

    monkeypatch.setattr(running, "output_of", output_of)
    return asked


MISSING = NodeError("local: there is no docker", id="command-missing")


def test_a_container_by_what_it_was_started_with(monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps(["vllm", ["serve", "M", "-tp", "2"], ["HF_HOME=/hf", "X"], 0])
    asked = _runtime(monkeypatch, {"docker": MISSING, "podman": Said(0, said, "")})
    found = running_container("vllm_node")
    assert (found.launch.number("--tensor-parallel-size"), found.environ) == (2, {"HF_HOME": "/hf"})
    assert [argv[0] for argv in asked] == ["docker", "podman"]
    assert asked[1][-2:] == ["--", "vllm_node"]


def test_a_container_by_what_was_started_in_it_later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _process(tmp_path, 40, ["sleep", "infinity"], group="0::/docker/a")
    _process(tmp_path, 50, ["vllm", "serve", "Other"], group="0::/docker/b")
    _process(tmp_path, 60, ["vllm", "serve", "M"], environ="B=2\0", group="0::/docker/a")
    _runtime(monkeypatch, {"docker": Said(0, json.dumps(["sleep", ["infinity"], ["A=1"], 40]), "")})
    found = running_container("c", str(tmp_path))
    assert (found.launch.positional, found.environ) == (("M",), {"A": "1", "B": "2"})


@pytest.mark.parametrize(
    ("name", "said", "words"),
    [
        ("x;rm", Said(0, "", ""), "is no name of a container"),
        ("--help", Said(0, "", ""), "is no name of a container"),
        ("c", Said(1, "", "Error: no such container c\n"), "no container c: .*no such container"),
        ("c", Said(0, "garbage", ""), "no container c"),
        ("c", Said(0, '["sleep", null, null, 0]', ""), "runs no vLLM"),
    ],
)
def test_what_is_no_container_of_a_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, said: Said, words: str
) -> None:
    _runtime(monkeypatch, {"docker": said, "podman": MISSING})
    with pytest.raises(UsageError, match=words):
        running_container(name, str(tmp_path))


@pytest.mark.parametrize("said", ["", "[]", "{}", "[1,2]", '["a",[],[],"x"]', "[" * 100_000, "null"])
def test_what_inspect_never_says(said: str) -> None:
    assert read_inspected(said) is None
