"""slurm, slurm-prolog, mpirun, mpirun-wrapper: each node gets its own, a strange node none and is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import render
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, HEAD, WORKER, alone, node, pair, preset, printed

pytestmark = pytest.mark.unit


def script(folder: Path, text: str) -> Path:
    file = folder / "script.sh"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("name", "values"), [("spark1", HEAD), ("spark-a", HEAD), ("spark2", WORKER), ("spark-b", WORKER)]
)
def test_the_task_prolog_gives_each_node_its_own(name: str, values: dict[str, str], tmp_path: Path) -> None:
    file = script(tmp_path, render(pair(), None, "slurm-prolog"))
    said = subprocess.run(["sh", file], env={"SLURMD_NODENAME": name}, capture_output=True, text=True, timeout=20)
    assert said.stderr == ""
    assert readers.slurm_reads(said.stdout) == values


@pytest.mark.parametrize("name", ["other", "spark12", "SPARK1", "", "spark1 spark2", "*", "$(id)"])
def test_the_task_prolog_tells_a_node_it_does_not_know(name: str, tmp_path: Path) -> None:
    file = script(tmp_path, render(pair(), None, "slurm-prolog"))
    said = subprocess.run(["sh", file], env={"SLURMD_NODENAME": name}, capture_output=True, text=True, timeout=20)
    assert said.stdout == f"print fabricdoc: no NCCL settings for node {name}\n"
    assert readers.slurm_reads(said.stdout) == {}


def test_the_task_prolog_stays_within_what_slurm_reads() -> None:
    with pytest.raises(UsageError, match="Slurm reads"):
        render(alone({"NCCL_X": "x" * 4000}), None, "slurm-prolog")


def test_batch_lines_hold_what_all_share_and_say_the_rest() -> None:
    text = render(pair({"NCCL_ALGO": ALGO}), None, "slurm")
    assert "export NCCL_ALGO='ring;allreduce:tree'" in text
    assert "NCCL_IB_HCA, NCCL_SOCKET_IFNAME: differ per node, see --format slurm-prolog" in text
    assert "export NCCL_IB_HCA" not in text


@pytest.mark.parametrize("host", ["spark2", "spark-b", "spark2.lan", "spark-b.example.org"])
def test_the_wrapper_sets_this_hosts_values_and_execs(host: str, tmp_path: Path) -> None:
    bins = readers.program(tmp_path / "bin", "serve")
    (bins / "uname").write_text(f"#!/bin/sh\necho {host}\n")
    (bins / "uname").chmod(0o755)
    file = script(tmp_path, render(pair(), None, "mpirun-wrapper"))
    argv, seen = readers.run_script(file, "serve", "a b", "$x", bins=bins)
    assert argv[1:] == ["a b", "$x"]
    assert readers.only(seen, WORKER) == WORKER


def test_the_wrapper_ends_the_launch_on_a_strange_host(tmp_path: Path) -> None:
    bins = readers.program(tmp_path / "bin", "serve")
    (bins / "uname").write_text("#!/bin/sh\necho other\n")
    (bins / "uname").chmod(0o755)
    file = script(tmp_path, render(pair(), None, "mpirun-wrapper"))
    done = subprocess.run(
        ["sh", file, "serve"], env={"PATH": f"{bins}:/bin"}, capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "host other is not in the preset" in done.stderr


def test_a_node_whose_name_is_shell_syntax_stays_a_name(tmp_path: Path) -> None:
    evil = preset(node("a'; touch here; '*", {"NCCL_X": "1"}), prints=(printed("a'; touch here; '*", "p"),))
    file = script(tmp_path, render(evil, None, "slurm-prolog"))
    said = subprocess.run(["sh", file], env={"SLURMD_NODENAME": "a"}, cwd=tmp_path, capture_output=True, text=True)
    assert said.stdout.startswith("print ")
    assert not (tmp_path / "here").exists()
    with pytest.raises(UsageError, match="line break"):
        render(preset(node("a\nb", {"NCCL_X": "1"})), None, "mpirun-wrapper")


def test_mpirun_hands_on_what_all_share(tmp_path: Path) -> None:
    text = render(pair({"NCCL_IB_TC": "106"}), None, "mpirun")
    assert readers.shell_words("bash", text.strip(), tmp_path) == ["-x", "NCCL_NET=IB", "-x", "NCCL_IB_TC=106"]
    assert "NCCL_ALGO=ring;allreduce:tree" in readers.shell_words(
        "bash", render(pair({"NCCL_ALGO": ALGO}), None, "mpirun").strip(), tmp_path
    )
