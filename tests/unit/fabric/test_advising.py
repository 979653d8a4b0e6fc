"""What matters beside the selectors on each shape of fabric, and that each piece of advice has a case without it."""

from __future__ import annotations

import pytest

from fabricdoc.fabric.selecting import selectors_of
from fabricdoc.model.fabric import Advice, Fabric, Library
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import RING, Wire, spark_pair, spark_ring, spark_switch

pytestmark = pytest.mark.unit

FOUR: tuple[Wire, ...] = (((0, 0), (1, 1)), ((1, 0), (2, 1)), ((2, 0), (3, 1)), ((3, 0), (0, 1)))


def advice(fabric: Fabric) -> dict[str, Advice]:
    found = selectors_of(fabric)
    assert found is not None
    return {one.topic: one for one in found.advice}


def swapped_twins() -> Fabric:
    """spark-b's twins have each other's addresses: one cable, and NCCL's first HCAs are not in one subnet."""
    fabric = spark_pair("one")
    first, second = (fabric.nodes[1].netdevs[at].addresses for at in (2, 4))  # type: ignore[index]
    fabric = changed(fabric, "spark-b", "netdev", "enp1s0f0np0", addresses=second)
    return changed(fabric, "spark-b", "netdev", "enP2p1s0f0np0", addresses=first)


def test_one_cable_needs_nothing_else() -> None:
    found = advice(spark_pair("one-crossed"))
    assert {topic: one.matters for topic, one in found.items()} == {
        "cross-nic": False,
        "merging": False,
        "subnet-routing": False,
    }
    assert not any(one.variables for one in found.values())


def test_rails_on_separate_wires_must_not_be_crossed() -> None:
    assert advice(eight_rail_servers(2))["cross-nic"].variables == {"NCCL_CROSS_NIC": "0"}
    assert not advice(spark_switch())["cross-nic"].matters
    assert advice(crossed_pair_with_one_rail())["cross-nic"].why.startswith("There is one rail")


def crossed_pair_with_one_rail() -> Fabric:
    return spark_pair("one", addressing="own-subnets", heard="pairs").model_copy(
        update={"links": spark_pair("one", heard="pairs").links[:1]}  # type: ignore[index]
    )


def test_two_cables_between_two_sparks_are_a_case_of_their_own() -> None:
    found = advice(spark_pair("straight"))
    assert "brings NCCL nothing" in found["second-cable"].why
    assert found["merging"].matters
    assert found["merging"].variables == {"NCCL_IB_MERGE_NICS": "0"}
    assert "rocep1s0f0+rocep1s0f1" in found["merging"].why
    assert "second-cable" not in advice(spark_pair("one"))
    assert "second-cable" not in advice(spark_ring())
    assert "second-cable" not in advice(eight_rail_servers(2))


def test_straight_pairs_keep_nccls_numbering_and_crossed_ones_do_not() -> None:
    assert "device-order" not in advice(spark_pair("straight"))
    found = advice(spark_pair("crossed"))
    assert found["device-order"].variables == {"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}
    assert "spark-b" in found["device-order"].why
    assert "exchange the plugs" in found["device-order"].why
    assert found["subnet-routing"].matters


def test_swapped_addresses_of_twins_name_the_real_cures() -> None:
    """The order of the list would change nothing, and is not offered."""
    why = advice(swapped_twins())["device-order"].why
    for cure in ("swap the addresses of the twins", "NCCL_IB_SUBNET_AWARE_ROUTING=1", "2.30.7", "fewer ports"):
        assert cure in why
    assert "whatever the order in NCCL_IB_HCA" in why
    assert "device-order" not in advice(spark_pair("one"))


def test_a_library_that_ignores_subnet_routing_is_named() -> None:
    old = (Library(path="/usr/lib/libnccl.so.2", version="2.28.9+cuda13.0"),)
    why = advice(changed(spark_ring(), "spark-b", "host", libnccl=old))["subnet-routing"].why
    assert "(spark-b has 2.28.9, which ignores it)" in why
    assert "ignores it" not in advice(spark_ring())["subnet-routing"].why


def test_a_ring_needs_fusion_routing_and_free_choice_of_nics() -> None:
    found = advice(spark_ring())
    assert found["subnet-routing"].variables == {"NCCL_IB_SUBNET_AWARE_ROUTING": "1"}
    assert found["cross-nic"].matters and not found["cross-nic"].variables
    assert found["merging"].matters and not found["merging"].variables
    assert "Do not set NCCL_IB_MERGE_NICS=0" in found["merging"].why
    assert "ring" not in found


@pytest.mark.long
def test_a_chain_is_no_ring() -> None:
    assert not advice(spark_ring(RING[:2]))["subnet-routing"].matters


def test_four_in_a_ring_have_no_path_for_trees() -> None:
    from tests.fabrics.spark import addressed, bare_spark, fabric_of

    fabric = fabric_of(addressed([bare_spark(number) for number in range(4)], FOUR, "own-subnets"), FOUR)
    assert advice(fabric)["ring"].variables == {"NCCL_ALGO": "ring"}


def test_sockets_need_no_advice_on_hcas() -> None:
    assert advice(crossed_pair()) == {}


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_every_piece_of_advice_says_why_and_sets_only_what_matters(name: str) -> None:
    found = selectors_of(RECORDED[name]())
    for one in found.advice if found else ():
        assert len(one.why) > 40
        assert one.matters or not one.variables
