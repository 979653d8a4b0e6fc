"""How far GPUs are from HCAs, by the bridges above both and NUMA, in nvidia-smi's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.fabric.gpu_paths import MOST_PATHS, gpu_paths
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node, PcieFunction
from tests.fabrics.altering import changed, set_facts
from tests.fabrics.others import container_node, laptop
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit

NOT_READ = Unknown(unknown="not read")
GPU, NIC = "0000:13:00.0", "0000:14:00.0"
RP, UP, DOWN_A, DOWN_B = "0000:10:01.0", "0000:11:00.0", "0000:12:00.0", "0000:12:01.0"


def function(address: str, upstream: tuple[str, ...], numa: Any = 0) -> PcieFunction:
    return PcieFunction(
        address=address, vendor="0x10de", device="0x1", pci_class="0x030200", numa_node=numa, upstream=upstream
    )


def node_with(*functions: PcieFunction) -> Node:
    """A node with one GPU at GPU and one HCA at NIC, and these PCIe functions."""
    whole = eight_rail_servers(1).nodes[0]
    assert isinstance(whole.gpus, tuple) and isinstance(whole.hcas, tuple)
    gpu = set_facts(whole.gpus[0], {"pci": GPU})
    hca = set_facts(whole.hcas[0], {"pci": NIC})
    return set_facts(whole, {"gpus": (gpu,), "hcas": (hca,), "pcie": functions})


def word(gpu: tuple[str, ...], nic: tuple[str, ...], numa: tuple[Any, Any] = (0, 0), *others: PcieFunction) -> str:
    """The path's word, "" for none."""
    paths = gpu_paths(node_with(function(GPU, gpu, numa[0]), function(NIC, nic, numa[1]), *others))
    return paths[0].path if paths else ""


# --- the words -------------------------------------------------------------------------------------------------------


def test_ports_of_one_switch_are_pix() -> None:
    assert word((RP, UP, DOWN_A), (RP, UP, DOWN_B)) == "PIX"


def test_functions_of_one_card_are_pix() -> None:
    assert word((RP,), (RP,)) == "PIX"
    assert word((RP, UP, DOWN_A), (RP, UP, DOWN_A)) == "PIX"


def test_switches_below_one_root_port_are_pxb() -> None:
    below = ("0000:20:00.0", "0000:21:00.0")
    assert word((RP, UP, DOWN_A, *below), (RP, UP, DOWN_B)) == "PXB"
    assert word((RP, UP, DOWN_A), (RP, UP, DOWN_B, *below)) == "PXB"
    assert word((RP, UP, DOWN_A, below[0]), (RP, UP, DOWN_B)) == "PXB"
    assert word((RP, UP, DOWN_A), (RP, UP, DOWN_B, below[0])) == "PXB"


def test_root_ports_of_one_host_bridge_are_phb() -> None:
    assert word(("0000:10:01.0",), ("0000:10:02.0",)) == "PHB"
    assert word((RP, UP, DOWN_A), ("0000:10:03.0", "0000:30:00.0", "0000:31:00.0"), (1, 0)) == "PHB"


def test_host_bridges_of_one_numa_node_are_node() -> None:
    assert word(("0000:10:01.0",), ("0000:30:01.0",)) == "NODE"
    assert word(("0000:10:01.0",), ("0002:10:01.0",)) == "NODE"


def test_numa_nodes_apart_are_sys() -> None:
    assert word(("0000:10:01.0",), ("0000:90:01.0",), (0, 1)) == "SYS"


def test_no_numa_nodes_at_all_is_one() -> None:
    assert word(("0000:10:01.0",), ("0002:10:01.0",), (-1, -1)) == "NODE"


# --- what can't be told ----------------------------------------------------------------------------------------------


def test_no_numa_node_where_others_have_several_tells_nothing() -> None:
    second = function("0000:99:00.0", ("0000:98:00.0",), 1)
    assert word(("0000:10:01.0",), ("0002:10:01.0",), (-1, -1), second) == ""


@pytest.mark.parametrize("numa", [(NOT_READ, 0), (0, NOT_READ), (-1, 0), (0, -1), (-1, 1)])
def test_a_numa_node_of_one_only_tells_nothing(numa: tuple[Any, Any]) -> None:
    assert word(("0000:10:01.0",), ("0000:30:01.0",), numa) == ""


@pytest.mark.parametrize(("gpu", "nic"), [((), (RP,)), ((RP,), ()), ((), ())])
def test_an_unknown_chain_tells_nothing(gpu: tuple[str, ...], nic: tuple[str, ...]) -> None:
    assert word(gpu, nic) == ""


@pytest.mark.parametrize("bridge", ["", "pci0000:10", "0000:10:01", "0000:10:01.9", "0000:10:01.0\n"])
def test_a_bridge_without_an_address_tells_nothing(bridge: str) -> None:
    assert word((bridge,), ("0000:10:02.0",)) == ""


def test_functions_that_are_not_listed_tell_nothing() -> None:
    assert gpu_paths(node_with(function(GPU, (RP,)))) == ()
    assert gpu_paths(node_with(function(NIC, (RP,)))) == ()
    assert gpu_paths(set_facts(node_with(), {"pcie": NOT_READ})) == ()


@pytest.mark.parametrize("part", ["hcas", "gpus"])
def test_unknown_devices_tell_nothing(part: str) -> None:
    whole = node_with(function(GPU, (RP,)), function(NIC, (RP,)))
    assert len(gpu_paths(whole)) == 1
    assert gpu_paths(set_facts(whole, {part: NOT_READ})) == ()
    odd = function(str(NOT_READ), (RP,))
    members = tuple(set_facts(one, {"pci": NOT_READ}) for one in getattr(whole, part))
    assert gpu_paths(set_facts(whole, {part: members, "pcie": (*whole.pcie, odd)})) == ()  # type: ignore[misc]


def test_a_chain_of_more_bridges_than_can_be_is_none() -> None:
    assert word((RP,) * 64, (RP,)) == "PXB"
    assert word((RP,) * 65, (RP,)) == word((RP,), (RP,) * 65) == ""


@pytest.mark.long
def test_a_report_of_too_many_pairs_is_not_worked_through() -> None:
    whole = node_with(function(GPU, (RP,)), function(NIC, (RP,)))
    assert isinstance(whole.gpus, tuple) and isinstance(whole.hcas, tuple)
    many = set_facts(whole, {"gpus": whole.gpus * (MOST_PATHS // 8), "hcas": whole.hcas * 8})
    assert len(gpu_paths(many)) == MOST_PATHS
    assert gpu_paths(set_facts(many, {"hcas": whole.hcas * 9})) == ()


# --- nodes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_fabrics_hold_their_paths(name: str) -> None:
    for node in RECORDED[name]().nodes:
        assert gpu_paths(node) == node.gpu_paths


def test_a_spark_is_node_to_all_four() -> None:
    found = gpu_paths(spark_straight().nodes[0])
    assert {path.path for path in found} == {"NODE"} and len(found) == 4


def test_a_server_has_one_near_nic_per_gpu() -> None:
    found = gpu_paths(eight_rail_servers().nodes[0])
    assert {(path.gpu, path.hca) for path in found if path.path == "PIX"} == {(k, f"mlx5_{k}") for k in range(8)}
    assert {path.path for path in found} == {"PIX", "NODE", "SYS"}


def test_a_gpu_moved_to_another_switch() -> None:
    moved = changed(eight_rail_servers(), "server-002", "pcie", "0000:33:00.0", upstream=("0000:10:02.0",))
    near = {(path.gpu, path.hca): path.path for path in gpu_paths(moved.nodes[1])}
    assert near[1, "mlx5_1"] == "NODE"
    assert near[1, "mlx5_0"] == "PHB"


def test_nodes_without_gpu_or_hca() -> None:
    assert gpu_paths(laptop().nodes[0]) == ()
    assert len(gpu_paths(container_node().nodes[0])) == 4


# --- any chains ------------------------------------------------------------------------------------------------------

CHAIN = st.lists(st.sampled_from([RP, "0000:10:02.0", "0000:30:01.0", UP, DOWN_A, DOWN_B, "x"]), max_size=5).map(tuple)
ORDER = ("PIX", "PXB", "PHB", "NODE", "SYS", "")


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(CHAIN, CHAIN, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1]))
def test_a_path_is_the_same_both_ways_and_not_longer_below_a_shared_bridge(
    gpu: tuple[str, ...], nic: tuple[str, ...], near: int, far: int
) -> None:
    there = word(gpu, nic, (near, far))
    assert there == word(nic, gpu, (far, near))
    assert there in ORDER
    if gpu and nic:
        assert (gpu[0] == nic[0]) == (there in ("PIX", "PXB"))
        assert word((RP, *gpu), (RP, *nic), (near, far)) in ("PIX", "PXB")
