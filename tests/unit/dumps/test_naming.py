"""What a file's name says of tool, node and interface; a name says a node only where nothing says better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.naming import file_name, node_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "tool", "node", "argument"),
    [
        ("spark1-ibv_devinfo.txt", "ibv_devinfo", "spark1", ""),
        ("dir/node02_show_gids.txt", "show_gids", "node02", ""),
        ("node02_rdma_link.txt", "rdma", "node02", ""),
        ("rdma_link.txt", "rdma", "", ""),
        ("ip_addr.txt", "ip", "", ""),
        ("ip_neigh.txt", "ip route", "", ""),
        ("ip-route.log", "ip route", "", ""),
        ("gx10.lab.ip_link.txt", "ip", "gx10.lab", ""),
        ("ethtool-S-enp1s0f0np0.txt", "ethtool", "", "enp1s0f0np0"),
        ("spark1_ethtool_i_eth0.txt", "ethtool", "spark1", "eth0"),
        ("mlnx_qos-eth7.txt", "mlnx_qos", "", "eth7"),
        ("lspci_acs.txt", "lspci", "", ""),
        ("hw_counters.txt", "sysfs", "", ""),
        ("hostnames.txt", "hostname", "", ""),
        ("nvidia-smi-topo-m.txt", "nvidia-smi topo", "", ""),
        ("nvidia-smi.txt", "nvidia-smi", "", ""),
        ("ulimit.txt", "ulimit", "", ""),
        ("spark1.txt", None, "", ""),
        ("chip.txt", None, "", ""),
        ("input.log", None, "", ""),
    ],
)
def test_names(name: str, tool: str | None, node: str, argument: str) -> None:
    found = file_name(name)
    assert (found.format.tool if found.format else None, found.node, found.argument) == (tool, node, argument)


def node(name: str, *beside: str, folder: str = "dump", certain: bool = False) -> str:
    return node_of(file_name(name), folder, certain=certain, beside=[file_name(one) for one in (name, *beside)])


def test_nodes() -> None:
    assert node("node01_rdma_link.txt", "node02_rdma_link.txt") == "node01"
    assert node("rdma_link.txt", "notes.txt") == "dump"
    assert node("notes.txt", "rdma_link.txt") == "dump"
    assert node("spark1.txt", "spark2.txt") == "spark1"
    assert node("spark1-ibstat.txt", folder="a", certain=True) == "a"
    assert node("ibstat.txt") == "dump"


@given(st.text(max_size=60))
def test_any_name_is_read(name: str) -> None:
    found = file_name(name)
    assert found.node in name
