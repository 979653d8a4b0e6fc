"""miaai, eugr, sparkrun: the lines the recipes know, read as the recipes read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import format_named, left_out, render, write_all
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, HEAD, WORKER, alone, node, pair, preset

pytestmark = pytest.mark.unit

KNOWN = {
    "IFACE": "enp1s0f1np1",
    "IB_HCA": "=rocep1s0f1,roceP2p1s0f1",
    "WORKER_IFACE": "enp1s0f0np0",
    "WORKER_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
    "IB_GID_INDEX": "-1",
}


def test_start_sh_reads_head_and_worker(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(render(pair(), None, "miaai"))
    assert readers.shell_reads("bash", "set -a; source ./.env", tmp_path) == KNOWN


def test_start_sh_puts_the_values_unquoted_into_docker_run(tmp_path: Path) -> None:
    """As its heredoc does, on the worker: an unquoted word must stay one."""
    (tmp_path / ".env").write_text(render(pair(), None, "miaai"))
    heredoc = "bash <<EOF\nprintf '%s\\n' -e NCCL_IB_HCA=$WORKER_IB_HCA -e NCCL_SOCKET_IFNAME=$WORKER_IFACE\nEOF"
    said = readers.run(["bash", "-c", f"source ./.env; {heredoc}"], tmp_path)
    assert said.split() == ["-e", f"NCCL_IB_HCA={WORKER['NCCL_IB_HCA']}", "-e", "NCCL_SOCKET_IFNAME=enp1s0f0np0"]


def test_the_rest_goes_by_nccl_conf_and_that_is_said() -> None:
    both = pair({"NCCL_ALGO": ALGO, "NCCL_DEBUG": "WARN"})
    text = render(both, None, "miaai")
    assert "NCCL_NET, NCCL_ALGO, NCCL_DEBUG" in text
    assert "COPY common.nccl.conf /etc/nccl.conf" in text
    assert "which one image can't hold" not in text
    assert "NCCL_DEBUG: start.sh sets it itself" in text
    assert "nccl-conf" in left_out(both, None, "miaai")


def test_the_file_that_goes_into_the_image_of_both_holds_what_both_share(tmp_path: Path) -> None:
    both = pair({"NCCL_ALGO": ALGO, "NCCL_BUFFSIZE": "1048576"})
    names = {path.name for path in write_all(both, tmp_path, "miaai", env={})}
    assert names == {"miaai.env", "spark1.nccl.conf", "spark2.nccl.conf", "common.nccl.conf"}
    shared = readers.nccl_reads((tmp_path / "common.nccl.conf").read_text())
    assert shared == {"NCCL_NET": "IB", "NCCL_ALGO": ALGO, "NCCL_BUFFSIZE": "1048576"}
    known = readers.shell_reads("bash", "set -a; source ./miaai.env", tmp_path)
    assert known == KNOWN
    apart = preset(node("a", {**HEAD, "NCCL_IB_TC": "1"}), node("b", {**WORKER, "NCCL_IB_TC": "2"}))
    assert "NCCL_IB_TC: not the same on both nodes, which one image can't hold" in render(apart, None, "miaai")


def test_a_pinned_gid_index_is_kept_where_both_pin_the_same() -> None:
    assert "IB_GID_INDEX=3\n" in render(pair({"NCCL_IB_GID_INDEX": "3"}), None, "miaai")
    mixed = preset(node("a", {**HEAD, "NCCL_IB_GID_INDEX": "3"}), node("b", {**WORKER, "NCCL_IB_GID_INDEX": "5"}))
    with pytest.raises(UsageError, match="one line for both"):
        render(mixed, None, "miaai")


@pytest.mark.parametrize("count", [1, 3])
def test_start_sh_serves_on_two_nodes(count: int) -> None:
    many = preset(*(node(f"n{index}", HEAD) for index in range(count)))
    with pytest.raises(UsageError, match="two nodes"):
        render(many, None, "miaai")


def test_start_sh_needs_an_hca_and_an_interface() -> None:
    socket = {"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=p0"}
    with pytest.raises(UsageError, match="needs both"):
        render(preset(node("a", socket), node("b", socket)), None, "miaai")


def test_container_lines_hold_the_common_part_alone() -> None:
    text = render(pair({"NCCL_IB_TC": "106"}), None, "eugr")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines == ["CONTAINER_NCCL_NET=IB", "CONTAINER_NCCL_IB_TC=106"]
    assert "launch-cluster.sh finds its own" in text


@pytest.mark.long
def test_launch_cluster_hands_the_same_to_head_and_worker(tmp_path: Path) -> None:
    values = {
        "NCCL_NET": "IB",
        "NCCL_IB_TC": "106",
        "NCCL_PROTO": "LL,Simple",
        "NCCL_X": "=a,b:1",
        "NCCL_Y": "a=b@%+/-_.",
    }
    here, there = readers.cluster_reads(render(alone(values, 'it\'s "so" = $x `y` \\'), None, "eugr"), tmp_path)
    assert here == there == values


def test_a_name_that_is_the_containers_and_an_equals_sign_that_is_lost_are_refused() -> None:
    for name, value in (("NAME", "x"), ("NCCL_X", "a="), ("NCCL_X", "=")):
        with pytest.raises(UsageError):
            render(alone({name: value}), None, "eugr")
    assert not format_named("eugr").refuse("NCCL_X", "a=b")


@pytest.mark.parametrize("value", [ALGO, "^docker0", "a b", "", "~", "(x)"])
def test_what_head_and_worker_would_get_differently_is_refused(value: str) -> None:
    with pytest.raises(UsageError):
        render(alone({"NCCL_X": value}), None, "eugr")


def test_sparkrun_gets_a_mapping_of_text() -> None:
    assert readers.yaml_reads(render(pair({"NCCL_IB_TC": "106"}), None, "sparkrun")) == {
        "env": {"NCCL_NET": "IB", "NCCL_IB_TC": "106"}
    }
    assert format_named("sparkrun").refuse("A1", "{model}")
    differing = preset(node("a", {"X1": "1"}), node("b", {"X1": "2"}))
    assert readers.yaml_reads(render(differing, None, "sparkrun")) == {"env": {}}
