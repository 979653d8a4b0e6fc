"""A node's NCCL_IB_HCA against its own HCAs: with a log and without, and what a neighbour has does not count."""

from __future__ import annotations

import pytest

from tests.excerpts import gids, links, log, told, using

pytestmark = pytest.mark.unit

Files = dict[str, str]
HCA = "NCCL_IB_HCA set to {}"
IB, SOCKETS, NONE = "Using network IB", "Using network Socket", "NET/IB : No device found."
HERE = {"alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE")), "bravo_rdma_link.txt": links(("mlx5_1", "ACTIVE"))}
GOOD_LOG = {"alpha.log": log("alpha", HCA.format("mlx5_0"), using("mlx5_0"), IB)}
FELL_BACK = {"bravo.log": log("bravo", HCA.format("mlx5_0"), NONE, SOCKETS)}
OWN_ENVS = {"alpha.env": "NCCL_IB_HCA=mlx5_0\n", "bravo.env": "NCCL_IB_HCA=mlx5_0\n"}
PASTE = """### {one}
$ show_gids
{first}$ env | grep NCCL
NCCL_IB_HCA=mlx5_0
### {other}
$ show_gids
{second}$ env | grep NCCL
NCCL_IB_HCA={value}
"""


def paste(value: str) -> str:
    """One paste with table and settings of two nodes."""
    tables = gids(("mlx5_0", 3, "10.0.0.1", "v2")), gids(("mlx5_1", 3, "10.0.0.2", "v2"))
    return PASTE.format(one="node1", other="node2", first=tables[0], second=tables[1], value=value)


FIRES = {
    "logs and ports of both": HERE | GOOD_LOG | FELL_BACK,
    "without the neighbour's log": HERE | FELL_BACK,
    "without its own ports": {"alpha_rdma_link.txt": HERE["alpha_rdma_link.txt"]} | FELL_BACK,
    "no log at all": HERE | OWN_ENVS,
    "tables alone": {"ticket.txt": paste("mlx5_0")},
    "a port that is down": {
        "alpha.env": "NCCL_IB_HCA==mlx5_2\n",
        "alpha_rdma_link.txt": links(("mlx5_1", "ACTIVE"), ("mlx5_2", "DOWN")),
    },
    "one file, one node": {"nccl.env": "NCCL_IB_HCA=rocep9\n", "rdma_link.txt": links(("mlx5_0", "ACTIVE"))},
}
NEARLY = {
    "each its own": HERE | {"alpha.env": "NCCL_IB_HCA=mlx5_0\n", "bravo.env": "NCCL_IB_HCA=mlx5_1\n"},
    "one paste, each its own": {"ticket.txt": paste("mlx5_1")},
    "the other node's setting": HERE | {"alpha.env": "NCCL_IB_HCA=mlx5_0\n"},
    "sockets are meant": {
        "alpha.env": "NCCL_IB_HCA=mlx5_9\nNCCL_NET=Socket\n",
        "alpha_rdma_link.txt": HERE["alpha_rdma_link.txt"],
    },
    "NCCL took one": {
        "alpha.log": log("alpha", using("mlx5_9"), IB),
        "alpha.env": "NCCL_IB_HCA=mlx5_9\n",
        "alpha_rdma_link.txt": HERE["alpha_rdma_link.txt"],
    },
    "no filter": HERE | {"alpha.env": "NCCL_DEBUG=INFO\n"},
}


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in FIRES.items()])
def test_a_filter_that_fits_none_of_its_own_nodes_hcas_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-hca-matches-nothing"
    assert document.findings[0].evidence
    assert document.findings[0].fix


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in NEARLY.items()])
def test_a_filter_that_fits_its_own_node_is_nothing_wrong(files: Files) -> None:
    assert told(files).verdict in ("none", "ib-disabled-by-env")


def test_the_node_that_fell_back_is_named_with_its_own_hcas_and_the_pair_is_an_error() -> None:
    finding = told(HERE | GOOD_LOG | FELL_BACK).findings[0]
    assert finding.severity == "error"
    assert "of bravo" in finding.cause
    assert any("NCCL_IB_HCA==mlx5_1" in line for line in finding.fix)
    assert not [piece for piece in finding.evidence if piece.file == "alpha_rdma_link.txt"]


def test_alone_it_is_a_warning_and_with_rdma_demanded_an_error() -> None:
    files = {"alpha.env": "NCCL_IB_HCA=mlx5_9\n", "alpha_rdma_link.txt": HERE["alpha_rdma_link.txt"]}
    assert told(files).findings[0].severity == "warning"
    files["alpha.env"] += "NCCL_NET=IB\n"
    assert told(files).findings[0].severity == "error"


def test_two_built_in_networks_are_no_plugins_and_the_fall_back_is_the_cause() -> None:
    document = told(HERE | GOOD_LOG | FELL_BACK)
    near = [one for one in document.considered if one.id == "net-plugin-mismatch-between-nodes"]
    assert "built" in near[0].why or "NCCL's own" in near[0].why


def test_two_built_in_networks_that_nothing_explains_still_differ() -> None:
    files = {"alpha.log": log("alpha", using("mlx5_0"), IB), "bravo.log": log("bravo", SOCKETS)}
    document = told(files)
    assert document.verdict == "net-plugin-mismatch-between-nodes"
    assert any("NCCL_NET=IB" in line for line in document.findings[0].fix)


def test_devices_missing_in_a_container_are_told_of_the_nodes_own_ports() -> None:
    files = HERE | GOOD_LOG | {"bravo.log": log("bravo", NONE, SOCKETS)}
    document = told(files)
    assert document.verdict == "container-rdma-device-missing"
    assert document.findings[0].severity == "error"
    assert "mlx5_0" not in document.findings[0].cause
    assert {piece.file for piece in document.findings[0].evidence} <= {"bravo.log", "bravo_rdma_link.txt", "alpha.log"}


def test_a_neighbours_ports_show_nothing_of_a_container() -> None:
    files = {"alpha1_rdma_link.txt": links(("mlx5_0", "ACTIVE")), "alpha2.log": log("alpha2", NONE, SOCKETS)}
    assert told(files).verdict != "container-rdma-device-missing"


def test_switched_off_on_one_node_says_nothing_of_the_other() -> None:
    off = "NCCL_IB_DISABLE set by environment to 1."
    files = GOOD_LOG | {"bravo.log": log("bravo", off, SOCKETS), "bravo_rdma_link.txt": links(("mlx5_1", "ACTIVE"))}
    document = told(files)
    assert document.verdict == "ib-disabled-by-env"
    assert document.findings[0].severity == "error"


MANY = links(("mlx5_1", "ACTIVE"), ("mlx5_10", "ACTIVE"), ("mlx5_11", "ACTIVE"))


@pytest.mark.parametrize(("value", "verdict"), [("mlx5_1", "ib-hca-prefix-match"), ("=mlx5_1", "none")])
def test_a_prefix_is_told_by_ports_alone(value: str, verdict: str) -> None:
    document = told({"alpha.env": f"NCCL_IB_HCA={value}\n", "alpha_rdma_link.txt": MANY})
    assert document.verdict == verdict
    if verdict != "none":
        assert "mlx5_10, mlx5_11" in document.findings[0].cause


def test_a_prefix_is_not_told_of_another_nodes_ports() -> None:
    files = {"alpha.env": "NCCL_IB_HCA=mlx5_1\n", "bravo_rdma_link.txt": MANY} | {
        "alpha_rdma_link.txt": links(("mlx5_1", "ACTIVE"))
    }
    assert told(files).verdict == "none"
