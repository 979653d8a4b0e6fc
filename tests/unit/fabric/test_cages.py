"""Cages and twins: from what chip and driver say, with the evidence named, and never from PCI addresses or names."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.fabric.cages import BY_CHIP, BY_PORT_NAME, BY_SUFFIX, cages_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from tests.fabrics.altering import changed, set_facts
from tests.fabrics.others import container_node, laptop
from tests.fabrics.parts import hca_of, netdev_of
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers, rail, server
from tests.fabrics.spark import bare_spark, spark_node, spark_one_cable, spark_pair, spark_straight

pytestmark = pytest.mark.unit

NOT_READ = Unknown(unknown="not read")
CHIP = "fc4c:ea03:00f9:4230"
TWINS = {f"{CHIP}/p0": ("roceP2p1s0f0", "rocep1s0f0"), f"{CHIP}/p1": ("roceP2p1s0f1", "rocep1s0f1")}


def shape(node: Node) -> dict[str, tuple[str, ...]]:
    return {cage.id: cage.hcas for cage in cages_of(node)}


def evidence(node: Node) -> set[str]:
    return {cage.by for cage in cages_of(node)}


def first(fabric: Fabric) -> Node:
    return fabric.nodes[0]


def nameless() -> Fabric:
    """A pair whose driver gives no phys_port_name."""
    return changed(spark_straight(), "*", "netdev", phys_port_name=NOT_READ)


# --- a Spark ---------------------------------------------------------------------------------------------------------


def test_twins_are_the_two_functions_of_one_connector() -> None:
    node = first(spark_straight())
    assert shape(node) == TWINS
    assert evidence(node) == {BY_PORT_NAME}


def test_dead_ports_have_a_cage_too() -> None:
    assert shape(first(spark_one_cable())) == TWINS


def test_renamed_devices_have_the_same_twins() -> None:
    """mlx5_0..3 in the order 0000:.0, 0000:.1, 0002:.0, 0002:.1: mlx5_0 and mlx5_2 are twins."""
    assert list(shape(first(spark_pair(renamed=True))).values()) == [("mlx5_0", "mlx5_2"), ("mlx5_1", "mlx5_3")]


def test_pci_addresses_may_be_anything() -> None:
    """As in a virtual machine that puts every function on a bus of its own."""
    node = first(spark_straight())
    assert isinstance(node.hcas, tuple)
    moved = tuple(set_facts(hca, {"pci": f"0000:{at:02x}:00.0"}) for at, hca in enumerate(node.hcas))
    assert shape(set_facts(node, {"hcas": moved})) == TWINS


def test_names_may_be_anything() -> None:
    node = first(spark_straight())
    text = node.model_dump_json()
    for old, new in (("rocep1s0f0", "zz"), ("roceP2p1s0f0", "aa"), ("enp1s0f0np0", "left"), ("enP2p1s0f0np0", "up")):
        text = text.replace(f'"{old}"', f'"{new}"')
    assert shape(Node.model_validate_json(text))[f"{CHIP}/p0"] == ("aa", "zz")


def test_two_chips_have_cages_of_their_own() -> None:
    one, other = (bare_spark(number) for number in (0, 1))
    others = [replace(f, hca=f"x{f.hca}", netdev=f"x{f.netdev}", pci=f"1{f.pci[1:]}") for f in other]
    node = spark_node("both", 0, [*one, *others])
    assert len(cages_of(node)) == 4
    assert all(len({hca[0] for hca in cage.hcas}) == 1 for cage in cages_of(node))


# --- the fallback ----------------------------------------------------------------------------------------------------


def test_without_a_port_name_the_suffix_and_the_function_tell() -> None:
    node = first(nameless())
    assert shape(node) == TWINS
    assert evidence(node) == {BY_SUFFIX}


def test_an_altname_keeps_the_suffix_of_a_renamed_interface() -> None:
    fabric = nameless()
    for old, new in (("enp1s0f0np0", "rail0"), ("enP2p1s0f0np0", "rail1")):
        fabric = changed(fabric, "spark-a", "netdev", old, name=new, altnames=(old,))
    for hca, netdev in (("rocep1s0f0", "rail0"), ("roceP2p1s0f0", "rail1")):
        fabric = changed(fabric, "spark-a", "port", hca, netdev=netdev)
    assert shape(first(fabric)) == TWINS


def test_twins_of_which_one_has_a_port_name_share_a_cage() -> None:
    node = first(changed(spark_straight(), "spark-a", "netdev", "enP2p1s0f0np0", phys_port_name=NOT_READ))
    assert shape(node) == TWINS
    assert evidence(node) == {BY_PORT_NAME, f"{BY_PORT_NAME}; {BY_SUFFIX}"}


def test_a_suffix_that_the_function_contradicts_is_left_out() -> None:
    """Somebody named f1 like f0: with p0 from f0 and f1 only the driver's word is believed, without it none."""
    copied = changed(nameless(), "spark-a", "hca", "roceP2p1s0f0", pci="0002:01:00.1")
    assert f"{CHIP}/p0" not in shape(first(copied))
    told = changed(copied, "spark-a", "netdev", "enp1s0f0np0", phys_port_name="p0")
    assert shape(first(told))[f"{CHIP}/p0"] == ("rocep1s0f0",)


def test_two_suffixes_of_one_interface_tell_nothing() -> None:
    fabric = changed(nameless(), "spark-a", "netdev", "enp1s0f0np0", altnames=("enp9s0f0np7",))
    assert shape(first(fabric)) == TWINS | {f"{CHIP}/p0": ("roceP2p1s0f0",)}


@pytest.mark.parametrize("name", ["enp1", "np0", "eth0", "enp1s0f0", "enp1s0f0np0x", "enp1s0f0np", "enp1s0f0pp0"])
def test_a_name_without_the_suffix_tells_nothing(name: str) -> None:
    fabric = changed(nameless(), "spark-a", "netdev", "enp1s0f0np0", name=name)
    fabric = changed(fabric, "spark-a", "port", "rocep1s0f0", netdev=name)
    assert shape(first(fabric))[f"{CHIP}/p0"] == ("roceP2p1s0f0",)


def test_the_interface_knows_the_function_where_the_device_does_not() -> None:
    assert shape(first(changed(nameless(), "spark-a", "hca", pci=NOT_READ))) == TWINS
    nothing = changed(changed(nameless(), "spark-a", "hca", pci=NOT_READ), "spark-a", "netdev", pci=NOT_READ)
    assert shape(first(nothing)) == {}


# --- left out --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guid", [NOT_READ, "0000:0000:0000:0000", "", "0"])
def test_without_a_chip_there_is_no_cage(guid: Any) -> None:
    node = first(changed(spark_straight(), "spark-a", "hca", "rocep1s0f0", sys_image_guid=guid))
    assert shape(node) == TWINS | {f"{CHIP}/p0": ("roceP2p1s0f0",)}


def test_virtual_functions_are_in_no_cage() -> None:
    node = first(spark_straight())
    assert isinstance(node.hcas, tuple) and isinstance(node.netdevs, tuple) and isinstance(node.pcie, tuple)
    virtual = replace(bare_spark(0)[0], hca="rocep1s0f0v0", netdev="enp1s0f0v0", pci="0000:01:00.2", ips=())
    marked = set_facts(hca_of(virtual), {"physical_function": "0000:01:00.0"})
    more = set_facts(node, {"hcas": (*node.hcas, marked), "netdevs": (*node.netdevs, netdev_of(virtual, 30))})
    assert shape(more) == TWINS
    function = set_facts(node.pcie[-1], {"address": "0000:01:00.2", "physical_function": "0000:01:00.0"})
    known = {"hcas": (*node.hcas, hca_of(virtual)), "pcie": (*node.pcie, function)}
    assert shape(set_facts(more, known)) == TWINS


@pytest.mark.parametrize("facts", [{"bond": "bond0"}, {"driver": "rdma_rxe"}, {"driver": "siw"}])
def test_bonds_and_soft_devices_are_in_no_cage(facts: dict[str, Any]) -> None:
    assert shape(first(changed(spark_straight(), "spark-a", "hca", **facts))) == {}


@pytest.mark.parametrize("name", ["pf0vf1", "p", "c1pf0", "", "p0\n", "p9999"])
def test_a_port_name_that_is_no_connector_is_not_guessed_at(name: str) -> None:
    """A representor has a name of its own; the suffix of its interface does not make it a connector."""
    node = first(changed(spark_straight(), "spark-a", "netdev", "enp1s0f0np0", phys_port_name=name))
    assert shape(node)[f"{CHIP}/p0"] == ("roceP2p1s0f0",)


def test_a_representor_is_no_connector_even_alone_on_its_chip() -> None:
    assert cages_of(first(changed(eight_rail_servers(), "*", "netdev", phys_port_name="pf0vf1"))) == ()


def test_a_container_sees_no_connectors() -> None:
    assert cages_of(first(container_node())) == ()
    assert shape(first(container_node(host_network=True))) == TWINS


def test_nothing_where_nothing_is_known() -> None:
    node = first(spark_straight())
    assert cages_of(set_facts(node, {"hcas": NOT_READ})) == ()
    assert cages_of(set_facts(node, {"netdevs": NOT_READ})) == ()
    assert cages_of(first(laptop())) == ()


# --- other NICs ------------------------------------------------------------------------------------------------------


def test_a_single_function_nic_is_a_cage_with_one_hca() -> None:
    node = first(eight_rail_servers())
    assert [cage.hcas for cage in cages_of(node)] == [(f"mlx5_{k}",) for k in range(8)]
    assert evidence(node) == {BY_PORT_NAME}


def test_the_only_function_of_a_chip_needs_no_name() -> None:
    bare = changed(eight_rail_servers(), "*", "netdev", phys_port_name=NOT_READ)
    node = first(changed(bare, "*", "netdev", name="eth", altnames=()))
    found = cages_of(node)
    assert [cage.hcas for cage in found] == [(f"mlx5_{k}",) for k in range(8)]
    assert {cage.by for cage in found} == {BY_CHIP}
    assert "/" not in found[0].id


def test_a_chip_without_an_address_and_a_name_is_in_no_cage() -> None:
    bare = changed(eight_rail_servers(), "*", "netdev", phys_port_name=NOT_READ, name="eth", altnames=())
    assert cages_of(first(changed(bare, "*", "hca", pci=NOT_READ))) == ()


def test_a_device_with_two_ports_in_one_cage_is_named_once() -> None:
    node = server(0, [rail(0, 0)])
    assert isinstance(node.hcas, tuple)
    one = node.hcas[0]
    both = set_facts(one, {"ports": (*one.ports, set_facts(one.ports[0], {"number": 2}))})
    (cage,) = cages_of(set_facts(node, {"hcas": (both,)}))
    assert cage.hcas == ("mlx5_0",)


def test_cages_are_in_the_order_of_their_ids() -> None:
    node = first(spark_straight())
    assert isinstance(node.hcas, tuple)
    turned = set_facts(node, {"hcas": tuple(reversed(node.hcas))})
    assert [cage.id for cage in cages_of(turned)] == list(TWINS)
    assert cages_of(turned)[0].hcas == ("rocep1s0f0", "roceP2p1s0f0")


def test_a_two_port_nic_has_two_cages() -> None:
    one = rail(0, 0)
    other = replace(one, hca="mlx5_1", netdev="enp20s0f1np1", pci="0000:14:00.1", connector="p1", guid=one.guid + 1)
    assert [cage.hcas for cage in cages_of(server(0, [one, other]))] == [("mlx5_0",), ("mlx5_1",)]


def test_a_device_with_two_ports_is_in_both_its_cages() -> None:
    node = server(0, [rail(0, 0), replace(rail(0, 1), connector="p1")])
    assert isinstance(node.hcas, tuple)
    one, other = node.hcas
    both = set_facts(one, {"ports": (*one.ports, set_facts(other.ports[0], {"number": 2}))})
    assert [cage.hcas for cage in cages_of(set_facts(node, {"hcas": (both,)}))] == [("mlx5_0",), ("mlx5_0",)]


def test_a_nameless_device_with_two_ports_is_in_no_cage() -> None:
    """Two connectors or two lanes of one: the chip alone does not say."""
    bare = changed(eight_rail_servers(), "*", "netdev", phys_port_name=NOT_READ, name="eth", altnames=())
    node = first(bare)
    assert isinstance(node.hcas, tuple)
    hca = node.hcas[0]
    both = set_facts(hca, {"ports": (hca.ports[0], set_facts(hca.ports[0], {"number": 2}))})
    assert len(cages_of(set_facts(node, {"hcas": (hca,)}))) == 1
    assert cages_of(set_facts(node, {"hcas": (both,)})) == ()


# --- recorded fabrics and hostile reports ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_fabrics_hold_their_cages(name: str) -> None:
    for node in RECORDED[name]().nodes:
        assert cages_of(node) == node.cages


@pytest.mark.long
def test_a_report_of_many_names_and_devices_takes_its_size_in_time() -> None:
    """Thousands of devices on one interface with thousands of names: each name is looked at once."""
    node = first(spark_straight())
    assert isinstance(node.hcas, tuple) and isinstance(node.netdevs, tuple)
    (netdev,) = [one for one in node.netdevs if one.name == "enp1s0f0np0"]
    names = tuple(f"name{number}" for number in range(20_000))
    named = set_facts(netdev, {"phys_port_name": NOT_READ, "altnames": names})
    hca = node.hcas[2]
    many = tuple(hca.model_copy(update={"name": f"h{number}"}) for number in range(5_000))
    before = time.process_time()
    (cage,) = cages_of(node.model_copy(update={"hcas": many, "netdevs": (named,)}))
    assert len(cage.hcas) == 5_000
    assert time.process_time() - before < 2


FACT = st.one_of(st.sampled_from(["p0", "p1", "", "pf0", CHIP, "0000:01:00.0"]), st.just(NOT_READ), st.text(max_size=9))
NAMES = ["enp1s0f0np0", "enp1s0f1np1", "enP2p1s0f0np0", "enP2p1s0f1np1"]


@pytest.mark.long
@settings(max_examples=150)
@given(st.lists(st.tuples(FACT, FACT, FACT, st.sampled_from(NAMES)), min_size=4, max_size=4))
def test_an_hca_is_in_one_cage_and_a_cage_on_one_chip(rows: list[tuple[Any, Any, Any, str]]) -> None:
    node = first(spark_straight())
    assert isinstance(node.hcas, tuple) and isinstance(node.netdevs, tuple)
    hcas, netdevs = [], {netdev.name: netdev for netdev in node.netdevs}
    for hca, (guid, pci, connector, name) in zip(node.hcas, rows, strict=True):
        port = set_facts(hca.ports[0], {"netdev": name})
        hcas.append(set_facts(hca, {"sys_image_guid": guid, "pci": pci, "ports": (port,)}))
        netdevs[name] = set_facts(netdevs[name], {"phys_port_name": connector})
    odd = set_facts(node, {"hcas": tuple(hcas), "netdevs": tuple(netdevs.values())})
    found = cages_of(odd)
    placed = [hca for cage in found for hca in cage.hcas]
    assert len(placed) == len(set(placed))
    chips = {hca.name: hca.sys_image_guid for hca in hcas}
    for cage in found:
        assert {chips[hca] for hca in cage.hcas} == {re.sub(r"/p\d.*$", "", cage.id)}
