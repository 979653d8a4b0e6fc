"""Where lossless traffic is meant, and what of a port's QoS makes its class lossless."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.qos import ecn, lossless, lossless_groups, numbers
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import Fabric, Qos
from tests.fabrics.altering import changed
from tests.fabrics.servers import eight_rail_servers, rail
from tests.fabrics.spark import spark_one_cable, spark_switch
from tests.unit.checks.between import with_qos

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
SWITCHES = st.lists(st.booleans(), min_size=8, max_size=8).map(tuple)
NONE, THREE = (False,) * 8, tuple(number == 3 for number in range(8))


def groups(fabric: Fabric) -> list[int]:
    return [len(group) for group in lossless_groups(fabric)]


def test_servers_with_pfc_mean_it() -> None:
    assert groups(eight_rail_servers()) == [16]
    (group,) = lossless_groups(eight_rail_servers())
    assert (group[0].node, group[0].netdev) == ("server-001", rail(0, 0).netdev)


def test_factory_settings_on_one_cable_mean_nothing() -> None:
    assert groups(spark_one_cable()) == []


def test_on_cables_most_ports_must_have_it() -> None:
    fabric = spark_one_cable()
    one = with_qos(fabric, "spark-a", pfc=THREE)
    assert groups(one) == [], "half of them is not most"
    three = changed(one, "spark-b", "qos", "enp1s0f0np0", pfc=THREE)
    assert groups(three) == [4]


def test_behind_a_switch_one_port_is_enough() -> None:
    fabric = with_qos(spark_switch(), "*", pfc=NONE)
    assert groups(fabric) == []
    assert groups(changed(fabric, "spark-a", "qos", "enp1s0f0np0", pfc=THREE)) == [8]


def test_where_no_link_was_proven_no_port_is_on_a_cable() -> None:
    fabric = changed(spark_one_cable(), "spark-a", "qos", "enp1s0f0np0", pfc=THREE)
    assert groups(fabric) == []
    assert groups(fabric.model_copy(update={"links": Unknown(unknown="not asked")})) == [4]


def test_ports_of_unread_qos_are_no_members() -> None:
    fabric = changed(eight_rail_servers(), "server-001", "netdev", rail(0, 0).netdev, qos=NOT_READ)
    assert groups(fabric) == [15]
    assert groups(changed(eight_rail_servers(), "*", "netdev", "*", qos=HIDDEN)) == []


@given(SWITCHES)
def test_priorities_with_pfc(on: tuple[bool, ...]) -> None:
    assert lossless(Qos(pfc=on)) == tuple(number for number in range(8) if on[number])
    assert lossless(Qos(pfc=HIDDEN)) == ()


@given(SWITCHES, SWITCHES)
def test_ecn_is_on_where_both_points_have_it(notifies: tuple[bool, ...], reacts: tuple[bool, ...]) -> None:
    both = ecn(Qos(ecn_np=notifies, ecn_rp=reacts))
    assert both == tuple(notifies[number] and reacts[number] for number in range(8))
    assert ecn(Qos(ecn_np=HIDDEN, ecn_rp=reacts)) == ecn(Qos(ecn_np=notifies, ecn_rp=HIDDEN)) == NOT_READ


@pytest.mark.parametrize(("given_", "text"), [((), "none"), ((0,), "0"), ((3, 4), "3,4")])
def test_numbers_in_words(given_: tuple[int, ...], text: str) -> None:
    assert numbers(given_) == text
