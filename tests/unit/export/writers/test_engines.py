"""vllm, sglang, trtllm: real scripts that start a program of that name with the right words and variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import render, wanted_lines
from fabricdoc.model.preset import Preset
from tests.unit.export import readers
from tests.unit.export.presets_made import HEAD, WORKER, alone, node, pair, preset, printed

pytestmark = pytest.mark.unit

MASTER = "192.168.100.10"


def started(both: Preset, index: int, fmt: str, program: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    bins = readers.program(folder / "bin", program)
    file = folder / "start.sh"
    file.write_text(render(both, both.nodes[index], fmt))
    return readers.run_script(file, "model", "--flag", "a b", bins=bins)


@pytest.mark.parametrize(("index", "values"), [(0, HEAD), (1, WORKER)])
def test_vllm_on_each_node(index: int, values: dict[str, str], tmp_path: Path) -> None:
    argv, seen = started(pair(), index, "vllm", "vllm", tmp_path)
    rank = ["--nnodes", "2", "--node-rank", str(index), "--master-addr", MASTER, "--master-port", "29501"]
    assert argv[1:] == ["serve", "model", "--flag", "a b", *rank, *(["--headless"] if index else [])]
    assert readers.only(seen, values) == values
    netdev = values["NCCL_SOCKET_IFNAME"][1:]
    assert (seen["GLOO_SOCKET_IFNAME"], seen["TP_SOCKET_IFNAME"]) == (netdev, netdev)
    assert seen["UCX_NET_DEVICES"] == ",".join(f"{name}:1" for name in values["NCCL_IB_HCA"][1:].split(","))
    assert seen["VLLM_HOST_IP"] == f"192.168.100.1{index}"


@pytest.mark.parametrize("index", [0, 1])
def test_sglang_on_each_node(index: int, tmp_path: Path) -> None:
    argv, seen = started(pair(), index, "sglang", "python3", tmp_path)
    rank = ["--nnodes", "2", "--node-rank", str(index), "--dist-init-addr", f"{MASTER}:29501"]
    assert argv[1:] == ["-m", "sglang.launch_server", "model", "--flag", "a b", *rank]
    assert seen["SGLANG_HOST_IP"] == f"192.168.100.1{index}"
    assert "VLLM_HOST_IP" not in seen


def test_a_first_launch_of_sglang_waits_longer_unless_the_user_says_how_long(tmp_path: Path) -> None:
    first = wanted_lines(pair(), "sglang", first_launch=True)
    argv, seen = started(first, 0, "sglang", "python3", tmp_path)
    assert argv[3:9] == ["--dist-timeout", "1800", "--watchdog-timeout", "1800", "model", "--flag"]
    assert seen["TORCH_NCCL_DUMP_ON_TIMEOUT"] == "1"


def test_an_ipv6_head_is_bracketed(tmp_path: Path) -> None:
    nodes = (node("a", HEAD), node("b", HEAD))
    both = preset(*nodes, prints=(printed("a", "enp1s0f1np1", "fd00::1/64"), printed("b", "enp1s0f1np1", "fd00::2/64")))
    argv, seen = started(both, 1, "sglang", "python3", tmp_path)
    assert argv[-1] == "[fd00::1]:29501"
    assert seen["SGLANG_HOST_IP"] == "fd00::2"


def test_tensorrt_llm_starts_from_the_head(tmp_path: Path) -> None:
    argv, _ = started(pair(), 0, "trtllm", "mpirun", tmp_path)
    hosts = f"{MASTER}:1,192.168.100.11:1"
    assert argv[1:5] == ["-np", "2", "--host", hosts]
    again = ["sh", str(tmp_path / "start.sh"), "--on-host", "trtllm-llmapi-launch"]
    assert argv[5:] == [*again, "model", "--flag", "a b"]


@pytest.mark.parametrize(("host", "values"), [("spark1", HEAD), ("spark-b.lan", WORKER)])
def test_tensorrt_llm_sets_each_hosts_own_values_there(host: str, values: dict[str, str], tmp_path: Path) -> None:
    """The same file once more, as mpirun starts it on a host."""
    bins = readers.program(tmp_path / "bin", "trtllm-llmapi-launch")
    (bins / "uname").write_text(f"#!/bin/sh\necho {host}\n")
    (bins / "uname").chmod(0o755)
    (tmp_path / "start.sh").write_text(render(pair(), None, "trtllm"))
    argv, seen = readers.run_script(tmp_path / "start.sh", "--on-host", "trtllm-llmapi-launch", "a b", bins=bins)
    assert argv[1:] == ["a b"]
    assert readers.only(seen, values) == values
    assert seen["UCX_NET_DEVICES"] == ",".join(f"{name}:1" for name in values["NCCL_IB_HCA"][1:].split(","))


def test_tensorrt_llm_counts_gpus_and_names_a_shared_interface(tmp_path: Path) -> None:
    nodes = (node("a", HEAD), node("b", HEAD))
    gpus = tuple(f"GPU-{index}" for index in range(8))
    prints = tuple(printed(name, "enp1s0f1np1", f"10.0.0.{at}/24", gpus=gpus) for at, name in ((1, "a"), (2, "b")))
    argv, _ = started(preset(*nodes, prints=prints), 0, "trtllm", "mpirun", tmp_path)
    assert argv[1:5] == ["-np", "16", "--host", "10.0.0.1:8,10.0.0.2:8"]
    assert argv[5:9] == ["--mca", "btl_tcp_if_include", "enp1s0f1np1", "--mca"]


def test_without_an_address_the_host_variable_is_said_to_be_missing() -> None:
    one = alone(HEAD)
    text = render(one, one.nodes[0], "vllm")
    assert "VLLM_HOST_IP is not known" in text
    assert "--nnodes" not in text
    two = preset(node("a", HEAD), node("b", WORKER))
    with pytest.raises(UsageError, match="no address"):
        render(two, two.nodes[0], "vllm")


def test_a_value_the_preset_holds_is_not_replaced(tmp_path: Path) -> None:
    both = pair({"VLLM_HOST_IP": "10.9.9.9", "GLOO_SOCKET_IFNAME": "mine"})
    _, seen = started(both, 0, "vllm", "vllm", tmp_path)
    assert (seen["VLLM_HOST_IP"], seen["GLOO_SOCKET_IFNAME"]) == ("10.9.9.9", "mine")


def test_a_node_whose_name_mpirun_would_split_is_refused() -> None:
    both = preset(node("a,b", HEAD), node("c", WORKER))
    with pytest.raises(UsageError, match="can't be named to mpirun"):
        render(both, None, "trtllm")
