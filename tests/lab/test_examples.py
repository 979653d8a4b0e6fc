"""The examples as a user runs them: real scripts, the real gate on two lab nodes, stand-ins for what is not here."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.tuning import preset_to_toml
from tests.lab.cabling import F0, F1, LINK, done
from tests.lab.marked import ROOT
from tests.lab.stand_ins import StandIns
from tests.lab.standing_preset import standing_preset

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

SET_STATE = LINK + "ip.link('set', index=at, state=sys.argv[2])"
NETDEVS = {"alpha": F0, "beta": F1}
Inside = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the examples, with the lab's preset in every folder of it."""
    made = tmp_path_factory.mktemp("examples") / "examples"
    shutil.copytree(ROOT / "examples", made)
    preset = standing_preset(lab).model_copy(update={"profile": ""})  # none to hold the launch lines against
    text = preset_to_toml(preset)
    for one in made.iterdir():
        (one / "preset.toml").write_text(text)
    conf = (made / "two-sparks" / "nodes.conf").read_text()
    conf = conf.replace("=spark1", "=alpha").replace("=spark2", "=beta")
    (made / "two-sparks" / "nodes.conf").write_text(conf)
    return made


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    return StandIns(tmp_path_factory.mktemp("bin"))


def run(script: Path, stand_ins: StandIns, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(script), *words],
        cwd=script.parent,
        env=stand_ins.environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def broken(lab: Lab, inside: Inside) -> Iterator[None]:
    """beta's end of the preset's rail is down; up again afterwards."""
    done(inside(lab.nodes[1].pid, SET_STATE, F1, "down"))
    try:
        yield
    finally:
        done(inside(lab.nodes[1].pid, SET_STATE, F1, "up"))


def test_start_sh_gates_then_starts_worker_and_head_with_their_own_variables(folder: Path, stand_ins: StandIns) -> None:
    ended = run(folder / "two-sparks" / "start.sh", stand_ins)
    assert ended.returncode == 0, ended.stderr
    worker, head = stand_ins.started()
    for started, node, rank in ((worker, "beta", "1"), (head, "alpha", "0")):
        words = started["words"]
        lines = [line for line in started["file"].splitlines() if line and not line.startswith("#")]
        assert lines == [f"GLOO_SOCKET_IFNAME={NETDEVS[node]}"]
        assert words[words.index("--node-rank") + 1] == rank
        assert ("--headless" in words) == (rank == "1")
        assert words[words.index("--device") + 1] == "/dev/infiniband"
        assert "memlock=-1" in words and words[words.index("--cap-add") + 1] == "IPC_LOCK"
        assert words[words.index("--network") + 1] == words[words.index("--ipc") + 1] == "host"
        assert words[words.index("vllm/vllm-openai:latest") + 1 :][:2] == ["vllm", "serve"]
    assert "fabricdoc verify-env" in ended.stdout


def test_a_gate_that_says_no_stops_it_before_anything_starts(
    lab: Lab, folder: Path, stand_ins: StandIns, inside: Inside
) -> None:
    with broken(lab, inside):
        ended = run(folder / "two-sparks" / "start.sh", stand_ins)
        assert (ended.returncode, stand_ins.started()) == (1, [])
        assert "no-go" in ended.stdout and F1 in ended.stdout


def test_a_head_that_does_not_start_takes_the_worker_away_again(folder: Path, stand_ins: StandIns) -> None:
    """docker fails on the head alone. The gate said go a test before: here a stand-in says it."""
    script = (folder / "two-sparks" / "start.sh").read_text().replace("fabricdoc gate", "true gate")
    failing = folder / "two-sparks" / "failing.sh"
    failing.write_text(script.replace('if ! "${run[@]}"', 'if ! FAIL_DOCKER=1 "${run[@]}"'))
    failing.chmod(0o755)
    ended = run(failing, stand_ins)
    assert ended.returncode == 1
    worker, head, removed = stand_ins.started()
    assert (head["words"][0], removed["words"]) == ("run", ["rm", "--force", "fabricdoc-vllm"])
    assert "--headless" in worker["words"]


def test_stop_sh_ends_both_by_name(folder: Path, stand_ins: StandIns) -> None:
    assert run(folder / "two-sparks" / "stop.sh", stand_ins).returncode == 0
    assert [one["words"] for one in stand_ins.started()] == [["rm", "--force", "fabricdoc-vllm"]] * 2


@pytest.mark.parametrize(
    ("script", "words", "env", "program", "expected"),
    [
        ("vllm/serve.sh", ["alpha", "0"], {}, "vllm", "--node-rank 0 --master-addr 10.0.0.1 --master-port 29501"),
        ("sglang/serve.sh", ["beta", "1"], {"HOST_IP": "10.0.0.2"}, "sglang", "--dist-init-addr 10.0.0.1:29501"),
        ("ray/start.sh", ["beta", "10.0.0.2"], {"HEAD_ADDR": "10.0.0.1"}, "ray", "start --address 10.0.0.1:6379"),
    ],
)
def test_command_lines_start_with_this_nodes_values(
    folder: Path, stand_ins: StandIns, script: str, words: list[str], env: dict[str, str], program: str, expected: str
) -> None:
    ended = run(folder / script, stand_ins, *words, MASTER_ADDR="10.0.0.1", **env)
    assert ended.returncode == 0, ended.stderr
    (started,) = stand_ins.started()
    assert started["program"] == program
    assert expected in shlex.join(started["words"])
    assert started["env"]["GLOO_SOCKET_IFNAME"] == NETDEVS[words[0]]
    assert started["env"].get("SGLANG_HOST_IP") == env.get("HOST_IP")


def test_a_slurm_job_gates_its_allocation_and_gives_each_task_its_nodes_values(
    lab: Lab, folder: Path, stand_ins: StandIns
) -> None:
    pids = {f"LAB_{node.name.upper()}": str(node.pid) for node in lab.nodes}
    job = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "alpha,beta", "SLURM_NNODES": "2"}
    ended = run(folder / "slurm" / "serve.sbatch", stand_ins, MASTER_ADDR="10.0.0.1", **pids, **job)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    head, worker = stand_ins.started()
    for started, node, rank in ((head, "alpha", "0"), (worker, "beta", "1")):
        assert started["env"]["GLOO_SOCKET_IFNAME"] == NETDEVS[node]
        words = started["words"]
        assert words[words.index("--node-rank") + 1] == rank
        assert ("--headless" in words) == (rank == "1")
    assert list((folder / "slurm").glob("nccl-taskprolog*")) == []


def test_a_prolog_never_drains_a_node_for_what_is_not_hardware(folder: Path, stand_ins: StandIns) -> None:
    """No preset there: nothing to judge by. A fabricdoc that fails, or could not tell: the same."""
    prolog = (folder / "slurm" / "prolog.sh").read_text()
    for preset, fabricdoc, expected in (("absent.toml", "exit 1", 0), ("preset.toml", "exit 1", 1),
                                        ("preset.toml", "exit 3", 0), ("preset.toml", "exit 4", 0),
                                        ("preset.toml", "exit 0", 0)):  # fmt: skip
        script = folder / "slurm" / "prolog-here.sh"
        script.write_text(prolog.replace("/etc/fabricdoc/preset.toml", str(folder / "slurm" / preset)))
        script.chmod(0o755)
        own = folder / "slurm" / "bin"
        own.mkdir(exist_ok=True)
        (own / "fabricdoc").write_text(f"#!/bin/sh\n{fabricdoc}\n")
        (own / "fabricdoc").chmod(0o755)
        path = f"{own}:{stand_ins.environment()['PATH']}"
        assert run(script, stand_ins, PATH=path).returncode == expected, (preset, fabricdoc)
