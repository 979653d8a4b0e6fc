"""verify-env against real processes on the nodes of a lab: started with the exported files, entered and over sshd."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from fabricdoc.cli.program import main
from fabricdoc.export import write_all
from fabricdoc.lab import Lab
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.tuning import preset_to_toml
from tests.sshd import lab_over_ssh, why_not

pytestmark = pytest.mark.lab

SERVE = "import sys; print('up', flush=True); sys.stdin.read()"
SERVER = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SERVE!r}])"
HCAS = {"alpha": "=rocep1s0f1,roceP2p1s0f1", "beta": "=rocep1s0f0,roceP2p1s0f0"}

Serve = Callable[[int, list[str], Mapping[str, str]], int]


def values(node: str) -> dict[str, str]:
    return {"NCCL_NET": "IB", "NCCL_IB_HCA": HCAS[node], "GLOO_SOCKET_IFNAME": "enp1s0f0np0"}


def preset(targets: Mapping[str, str]) -> Preset:
    def node(name: str) -> NodePreset:
        lines = tuple(Line(name=k, value=v, kind="placed", evidence="proof") for k, v in values(name).items())
        return NodePreset(name=name, target=targets[name], python=sys.executable, lines=lines)

    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="base",
        reason="",
        exercised="the lab",
        nodes=tuple(node(name) for name in targets),
    )


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the sockets of shared connections lie below it; the working folder too."""
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{made}/run")
        monkeypatch.chdir(made)
        yield Path(made)


@pytest.fixture
def written(lab: Lab, folder: Path) -> Path:
    """The preset as a file, and every node's exported files beside it."""
    both = preset({one.name: one.target for one in lab.nodes})
    (folder / "p.toml").write_text(preset_to_toml(both))
    for fmt in ("env", "bash", "nccl-conf"):
        write_all(both, folder, fmt, env={})
    return folder


@pytest.fixture
def serve(enter: Callable[[int], None]) -> Iterator[Serve]:
    """A server with a worker below it in a node: words in front of it, and the environment it gets."""
    started: list[subprocess.Popen[str]] = []

    def start(pid: int, words: list[str], env: Mapping[str, str]) -> int:
        process = subprocess.Popen(
            [*words, sys.executable, "-c", SERVER],
            preexec_fn=lambda: enter(pid),
            env={"PATH": os.environ["PATH"], **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        return process.pid

    yield start
    for process in started:
        process.communicate(timeout=10)


def sourcing(file: Path) -> list[str]:
    """A launcher that sources an env file, as users do, and execs the server."""
    return ["sh", "-c", 'set -a; . "$0"; exec "$@"', str(file)]


def verify(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    status = main(["verify-env", "--preset", "p.toml", *words, "--json"])
    document = json.loads(capsys.readouterr().out)
    return status, document


def outcomes(document: Mapping[str, object], node: str) -> dict[str, str]:
    (worker,) = [one for one in document["workers"] if one["node"] == node]  # type: ignore[attr-defined]
    return {one["name"]: one["outcome"] for one in worker["variables"]}


def test_files_that_were_sourced_reached_both_workers(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    pids = {one.name: serve(one.pid, sourcing(written / f"{one.name}.env"), {}) for one in lab.nodes}
    status, found = verify("--pid", ",".join(f"{name}={pid}" for name, pid in pids.items()), capsys=capsys)
    assert (status, found["answer"], found["schema"]) == (0, "delivered", "fabricdoc/delivery/1")
    workers = found["workers"]
    assert isinstance(workers, list)
    assert {one["pid"] for one in workers}.isdisjoint(pids.values()), "the children serve, not the launchers"


def test_a_launcher_that_does_not_export_is_caught(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sourced without `set -a` on beta: the shell has the variables, the server does not."""
    alpha, beta = lab.nodes
    first = serve(alpha.pid, sourcing(written / "alpha.env"), {})
    second = serve(beta.pid, ["sh", "-c", '. "$0"; exec "$@"', str(written / "beta.env")], {})
    status, found = verify("--pid", f"alpha={first},beta={second}", capsys=capsys)
    assert status == 1
    assert found["reason"] == "on beta: NCCL_IB_HCA missing, GLOO_SOCKET_IFNAME missing"
    assert [one["subject"] for one in found["findings"]] == ["beta"]  # type: ignore[attr-defined]


def test_one_nodes_list_for_all_is_caught(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    pids = [serve(one.pid, sourcing(written / "alpha.env"), {}) for one in lab.nodes]
    status, found = verify("--pid", f"alpha={pids[0]},beta={pids[1]}", capsys=capsys)
    assert status == 1
    assert outcomes(found, "beta")["NCCL_IB_HCA"] == "differs"
    assert set(outcomes(found, "alpha").values()) == {"delivered"}


def test_nccls_file_delivers_to_nccl_and_the_environment_beats_it(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    """~/.nccl.conf in each server's own home; beta's launcher also sets a variable of it."""
    alpha, beta = lab.nodes
    homes = {}
    for one in lab.nodes:
        (written / f"home-{one.name}").mkdir()
        shutil.copy(written / f"{one.name}.nccl.conf", written / f"home-{one.name}" / ".nccl.conf")
        homes[one.name] = {"HOME": str(written / f"home-{one.name}"), "GLOO_SOCKET_IFNAME": "enp1s0f0np0"}
    first = serve(alpha.pid, [], homes["alpha"])
    second = serve(beta.pid, [], {**homes["beta"], "NCCL_NET": "Socket"})
    status, found = verify("--pid", f"alpha={first},beta={second}", capsys=capsys)
    assert status == 1
    assert set(outcomes(found, "alpha").values()) == {"delivered"}
    assert outcomes(found, "beta") == {
        "NCCL_NET": "overridden",
        "NCCL_IB_HCA": "delivered",
        "GLOO_SOCKET_IFNAME": "delivered",
    }
    assert "which beats" in json.dumps(found["findings"])


def test_one_node_is_enough_when_it_is_named_and_not_otherwise(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    pid = serve(lab.nodes[0].pid, sourcing(written / "alpha.env"), {})
    assert verify("--pid", f"alpha={pid}", "--node", "head", capsys=capsys)[0] == 0
    status, found = verify("--pid", f"alpha={pid},beta={1 << 22}", capsys=capsys)
    assert (status, found["answer"]) == (3, "could-not-tell")
    assert "no such process" in str(found["reason"])


def test_for_people_the_answer_comes_first(
    lab: Lab, written: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    pid = serve(lab.nodes[0].pid, sourcing(written / "alpha.env"), {})
    assert main(["verify-env", "--preset", "p.toml", "--pid", f"alpha={pid}", "--node", "alpha"]) == 0
    assert capsys.readouterr().out.startswith("delivered: preset pair: every variable reached 1 process on alpha")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--pid PID, --container NAME, or --log FILE"),
        (["--pid", "x"], "no process number"),
        (["--pid", "gamma=1"], "no node of preset"),
        (["--node", "gamma", "--pid", "1"], "no node"),
        (["--log", "absent.log"], "no such file"),
    ],
)
def test_wrong_words_are_usage(written: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify-env", "--preset", "p.toml", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_over_a_real_ssh_server_too(lab: Lab, folder: Path, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    both = preset({one.name: one.name for one in lab.nodes})
    (folder / "p.toml").write_text(preset_to_toml(both))
    write_all(both, folder, "bash", env={})
    with ExitStack() as stack:
        made = stack.enter_context(lab_over_ssh(folder, lab.nodes))
        (folder / "fabric.toml").write_text(
            f'[ssh]\nconfig = "{made.config}"\n'
            + "".join(f'[[node]]\nname = "{one.name}"\npython = "{sys.executable}"\n' for one in lab.nodes)
        )
        pids = [serve(one.pid, sourcing(folder / f"{one.name}.sh"), {}) for one in lab.nodes]
        named = ["--nodes", "alpha,beta", "--pid", f"alpha={pids[0]},beta={pids[1]}"]
        assert verify(*named, capsys=capsys)[0] == 0
        swapped = ["--nodes", "alpha,beta", "--pid", f"alpha={pids[1]},beta={pids[0]}"]
        status, found = verify(*swapped, capsys=capsys)
    assert status == 1
    assert outcomes(found, "alpha")["NCCL_IB_HCA"] == "differs"
