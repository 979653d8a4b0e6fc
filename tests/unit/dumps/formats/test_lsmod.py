"""lsmod: the modules that matter, the list being whole."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.formats import lsmod
from fabricdoc.probes import machine
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit


def test_the_modules_that_matter() -> None:
    text = fixture("lsmod.txt")
    assert facts(text) == {("host", "modules"): ["ib_uverbs", "mlx5_ib", "nvidia_peermem"]}
    assert tools(text) == [("lsmod", 1, 5)]


def test_none_of_them_is_a_fact_where_the_list_has_its_head() -> None:
    assert facts("Module                  Size  Used by\next4 1134592 1\n") == {("host", "modules"): []}
    assert facts("$ lsmod | grep nothing\next4 1134592 1\n") == {}


def test_they_are_those_that_the_probe_watches_in_its_order() -> None:
    assert lsmod.WATCHED == machine.WATCHED
    text = "Module  Size  Used by\nrdma_cm 1 0\nib_core 1 1 rdma_cm\niw_cm 1 1 rdma_cm\nbonding 1 0\n"
    assert facts(text) == {("host", "modules"): ["bonding", "ib_core", "rdma_cm"]}


@pytest.mark.parametrize(
    "name", ["nvidia_peermem", "mlx4_ib", "irdma", "bnxt_re", "rdma_rxe", "siw", "gdrdrv", "nv_peer_mem", "efa"]
)
def test_modules_of_every_vendor(name: str) -> None:
    assert facts(f"Module                  Size  Used by\n{name} 1 0\n") == {("host", "modules"): [name]}


@pytest.mark.parametrize("row", ["mlx5_ib", "mlx5_ib 12", "mlx5_ib size 0", "-mlx5_ib 1 0", "xmlx5_ib 1 0"])
def test_rows_that_name_no_module(row: str) -> None:
    assert facts(f"Module                  Size  Used by\n{row}\n") == {("host", "modules"): []}


def test_a_module_that_is_used_by_others_and_one_that_can_not_be_unloaded() -> None:
    text = (
        "Module                  Size  Used by\nmlx5_core 2 1 mlx5_ib\nib_core 9 -2\nib_uverbs 3 2 rdma_ucm,mlx5_ib\n"
    )
    assert facts(text)[("host", "modules")] == ["ib_uverbs", "mlx5_core"]
