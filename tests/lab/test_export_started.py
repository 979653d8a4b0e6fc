"""Exported scripts on the nodes of a lab: each starts with its own values; no curated preset without RDMA ports."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fabricdoc.cli.program import main
from fabricdoc.export import render
from fabricdoc.lab import Lab
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, PortPrint, Preset
from tests.lab.conftest import Inside

pytestmark = pytest.mark.lab

RUN = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], timeout=15).returncode)"
PROGRAM = f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
PORTS = {"alpha": "enp1s0f0np0", "beta": "enp1s0f1np1"}


def preset() -> Preset:
    def node(name: str) -> NodePreset:
        values = {"NCCL_SOCKET_IFNAME": f"={PORTS[name]}", "NCCL_ALGO": "ring;allreduce:tree"}
        lines = tuple(Line(name=key, value=value, kind="placed", evidence="proof") for key, value in values.items())
        return NodePreset(name=name, target=name, lines=lines)

    def printed(name: str, at: int) -> NodePrint:
        port = PortPrint(netdev=PORTS[name], hca=None, mac="m", mtu=1, speed_mbps=1, addresses=(f"10.0.0.{at}/24",))
        return NodePrint(name=name, hostname="lab", kernel="k", torch="t", nccl="n", nvidia_driver="d", ports=(port,))

    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="base",
        reason="",
        exercised="the lab",
        nodes=tuple(map(node, PORTS)),
        fingerprint=Fingerprint(nodes=(printed("alpha", 1), printed("beta", 2))),
    )


@pytest.mark.parametrize("fmt", ["vllm", "sglang", "ray-start"])
def test_each_node_starts_with_its_own_values(lab: Lab, inside: Inside, tmp_path: Path, fmt: str) -> None:
    """The names are those of interfaces that are there in the node."""
    program = {"vllm": "vllm", "sglang": "python3", "ray-start": "ray"}[fmt]
    (tmp_path / program).write_text(PROGRAM)
    (tmp_path / program).chmod(0o755)
    for rank, one in enumerate(lab.nodes):
        file = tmp_path / f"{one.name}.sh"
        both = preset()
        file.write_text(render(both, both.nodes[rank], fmt))
        done = inside(one.pid, RUN, "env", f"PATH={tmp_path}:/usr/bin:/bin", "sh", file, "model")
        assert done.returncode == 0, done.stderr
        words, seen = json.loads(done.stdout)
        assert "model" in words
        assert seen["NCCL_ALGO"] == "ring;allreduce:tree"
        assert seen["GLOO_SOCKET_IFNAME"] == seen["NCCL_SOCKET_IFNAME"][1:] == PORTS[one.name]
        there = inside(one.pid, RUN, "ls", f"/sys/class/net/{seen['GLOO_SOCKET_IFNAME']}")
        assert there.returncode == 0
        assert any("10.0.0.1" in word for word in words) or (fmt == "ray-start" and rank == 0)


def test_the_wrapper_knows_nodes_by_their_hostname_where_each_has_its_own(
    lab: Lab, inside: Inside, tmp_path: Path
) -> None:
    """Lab nodes share the machine's name unless they are given one: a shared one is nobody's, and ends the launch."""
    both = preset()
    (tmp_path / "wrapper.sh").write_text(render(both, None, "mpirun-wrapper"))
    (tmp_path / "serve").write_text(PROGRAM)
    (tmp_path / "serve").chmod(0o755)
    for one in lab.nodes:
        named = "hostname " + one.name + "; " if one.name else ""
        words = ["sh", "-c", f"{named}exec sh {tmp_path}/wrapper.sh {tmp_path}/serve"]
        done = inside(one.pid, RUN, *words)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)[1]["NCCL_SOCKET_IFNAME"] == f"={PORTS[one.name]}"


def test_nodes_without_rdma_get_no_curated_preset(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ",".join(f"{one.name}={one.target}" for one in lab.nodes)
    ports = ",".join(lab.nodes[0].ports)
    words = ["export-env", "--platform", "gb10", "--nodes", nodes, "--ports", ports, "--node", "head"]
    status = main(words)
    captured = capsys.readouterr()
    assert (status, captured.out) == (3, "")
    assert "no RDMA device" in " ".join(captured.err.split())
