"""What is a node's own: its setting, its ports, its networks; a neighbour's files say nothing about it."""

from __future__ import annotations

import pytest

from fabricdoc.explain.own import elsewhere, in_force, machines, networks_of, own_ports, silent, told_hcas
from tests.excerpts import case, gids, links, log, using

pytestmark = pytest.mark.unit

TWO = {
    "alpha1_rdma_link.txt": links(("mlx5_0", "ACTIVE")),
    "alpha2_rdma_link.txt": links(("mlx5_1", "ACTIVE"), ("mlx5_2", "DOWN")),
    "alpha1.env": "NCCL_IB_HCA=mlx5_0\n",
}


def test_a_setting_is_of_the_node_whose_file_holds_it() -> None:
    told = case(TWO)
    assert machines(told) == {"alpha1", "alpha2"}
    each = in_force(told, "NCCL_IB_HCA", "alpha1")
    assert each is not None
    assert each.value == "mlx5_0"
    assert in_force(told, "NCCL_IB_HCA", "alpha2") is None


def test_a_file_of_no_machine_is_everybodys_and_nccls_word_comes_first() -> None:
    told = case(TWO | {"prod.env": "NCCL_IB_HCA=mlx5_9\n", "alpha2.log": log("alpha2", "NCCL_IB_HCA set to mlx5_1")})
    each = in_force(told, "NCCL_IB_HCA", "alpha2")
    assert each is not None
    assert each.value == "mlx5_1"
    shared = in_force(case(TWO | {"prod.env": "NCCL_DEBUG=WARN\n"}), "NCCL_DEBUG", "alpha2")
    assert shared is not None


def test_ports_are_the_nodes_own() -> None:
    assert [port.hca for port in own_ports(case(TWO), "alpha2")] == ["mlx5_1", "mlx5_2"]


@pytest.mark.parametrize(
    ("name", "host", "taken"),
    [
        ("alpha1_rdma_link.txt", "alpha2", False),
        ("on_host_rdma_link.txt", "alpha2", True),
        ("box7_rdma_link.txt", "ip-10-0-0-9", True),
        ("rdma_link.txt", "alpha2", True),
    ],
)
def test_a_dump_under_another_name_is_taken_unless_it_is_a_neighbours(name: str, host: str, taken: bool) -> None:
    told = case({name: links(("mlx5_0", "ACTIVE")), f"{host}.log": log(host, "Using network Socket")})
    assert bool(own_ports(told, host)) is taken


def test_of_several_that_speak_a_dump_with_a_number_is_one_nodes() -> None:
    logs = {"alpha.log": log("alpha", "Using network Socket"), "bravo.log": log("bravo", "Using network Socket")}
    assert not own_ports(case(logs | {"box7_rdma_link.txt": links(("mlx5_0", "ACTIVE"))}), "alpha")
    assert own_ports(case(logs | {"outside_rdma_link.txt": links(("mlx5_0", "ACTIVE"))}), "alpha")


def test_hcas_are_active_ports_or_tables_where_no_state_is_told() -> None:
    told = case(TWO | {"bravo_show_gids.txt": gids(("mlx5_7", 3, "10.0.0.7", "v2"))})
    listed = {node: [hca for hca, _port, _line in found] for node, found in told_hcas(told).items()}
    assert listed == {"alpha1": ["mlx5_0"], "alpha2": ["mlx5_1"], "bravo": ["mlx5_7"]}


def test_a_log_that_names_what_nccl_took_is_not_silent() -> None:
    told = case({"alpha.log": log("alpha", using("mlx5_0"), "Using network IB"), "bravo.log": log("bravo", "comm 0x1")})
    assert not silent(told, "alpha")
    assert silent(told, "bravo")


def test_networks_are_told_node_by_node() -> None:
    told = case({"alpha.log": log("alpha", "Using network IB"), "bravo.log": log("bravo", "Using network Socket")})
    assert list(networks_of(told, "alpha")) == ["IB"]
    assert list(networks_of(told, "bravo")) == ["Socket"]
    assert [seen.spot.node for seen in elsewhere(told, "bravo")] == ["alpha"]
    assert not elsewhere(told, "alpha")
