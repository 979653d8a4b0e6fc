"""Which ports can be expected to be alike: active, of one model, driver and board; VFs and bond members apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.alike import like_ports
from fabricdoc.checks.majority import Place
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.healthy import with_virtual_functions
from tests.fabrics.servers import eight_rail_servers, rail
from tests.fabrics.spark import spark_one_cable

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")


def sizes(fabric: Fabric) -> list[int]:
    return sorted(len(group) for group in like_ports(fabric))


def test_all_rails_of_all_servers_are_alike() -> None:
    (group,) = like_ports(eight_rail_servers(3))
    assert len(group) == 24
    assert group[0].place == Place("server-001", "mlx5_0")
    assert {one.place.slot for one in group} == {f"mlx5_{k}" for k in range(8)}


@pytest.mark.long
def test_dead_ports_are_no_ports() -> None:
    assert sizes(spark_one_cable()) == [4]
    assert sizes(changed(spark_one_cable(), "spark-a", "port", "*", state="DOWN")) == [2]


@pytest.mark.parametrize("facts", [{"board_id": "OTHER"}, {"hca_type": "MT4131"}, {"driver": "mlx4_core"}])
def test_another_model_driver_or_board_is_another_kind(facts: dict[str, str]) -> None:
    assert sizes(changed(eight_rail_servers(), "server-002", "hca", "mlx5_6", **facts)) == [1, 15]


@pytest.mark.parametrize("fact", ["board_id", "hca_type", "driver"])
def test_what_is_unknown_is_a_kind_of_its_own_and_alike_among_itself(fact: str) -> None:
    fabric = changed(eight_rail_servers(), "server-002", "hca", "*", **{fact: HIDDEN})
    assert sizes(fabric) == [8, 8]


def test_virtual_functions_and_members_of_bonds_are_left_out() -> None:
    fabric = changed(with_virtual_functions(eight_rail_servers(1)), "server-001", "port", "mlx5_0v1", state="ACTIVE")
    assert sizes(fabric) == [8]
    assert sizes(changed(fabric, "server-001", "netdev", rail(0, 0).netdev, master="bond0")) == [7]


@pytest.mark.long
@given(st.lists(st.sampled_from(range(8)), unique=True, max_size=8))
def test_every_active_port_is_in_one_group(dead: list[int]) -> None:
    fabric = eight_rail_servers(1)
    for k in dead:
        fabric = changed(fabric, "server-001", "port", f"mlx5_{k}", state="DOWN")
    places = [one.place.slot for group in like_ports(fabric) for one in group]
    assert sorted(places) == [f"mlx5_{k}" for k in range(8) if k not in dead]
