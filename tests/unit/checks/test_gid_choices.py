"""NCCL's own choice of a GID, and whether it is the one that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gid_choices import check_gid_choices
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Fabric, Gid
from fabricdoc.nccl import gid_choices
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

HCA, PORT = "rocep1s0f0", "enp1s0f0np0"
OWN, ZEROCONF = "192.168.100.10", "169.254.7.9"


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_choose_what_is_meant(name: str) -> None:
    assert ids(check_gid_choices, RECORDED[name]()) == []


def slot(index: int, ip: str, netdev: Any = PORT, kind: Any = "RoCE v2") -> Gid:
    digits = "".join(f"{int(part):02x}" for part in ip.split("."))
    text = f"0000:0000:0000:0000:0000:ffff:{digits[:4]}:{digits[4:]}"
    return Gid(index=index, gid=text, type=kind, netdev=netdev, ipv4=ip)


def spark(*slots: Gid, **environment: str) -> Fabric:
    """spark-a with these IPv4 slots on one HCA, and NCCL's choice worked out anew."""
    fabric = changed(spark_one_cable(), "spark-a", "host", environment=environment)
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    before = next(one for one in hcas if one.name == HCA).ports[0].gids
    assert not isinstance(before, Unknown)
    bare = tuple(gid for gid in before if gid.index < 2)
    fabric = changed(fabric, "spark-a", "port", HCA, gids=(*bare, *slots))
    return changed(fabric, "spark-a", "node", nccl_gids=gid_choices(fabric.nodes[0].hcas))


def test_a_zeroconf_address_that_comes_first_is_taken() -> None:
    found = only(check_gid_choices, spark(slot(3, ZEROCONF), slot(5, OWN)), "gid-choice-zeroconf")
    assert (found.severity, found.subject) == ("warning", f"spark-a/{HCA}")
    assert texts(found) == [f"NCCL takes GID 3 {ZEROCONF} ({PORT})", f"and not GID 5 {OWN} ({PORT})"]
    assert found.fix == (
        f"in netplan, for {PORT}: link-local: []",
        "or on spark-a: export NCCL_IB_ADDR_RANGE=192.168.100.0/24",
    )


@pytest.mark.parametrize(
    "slots",
    [
        (slot(3, OWN), slot(5, ZEROCONF)),  # the real one comes first
        (slot(3, ZEROCONF),),  # all that there is: two such nodes reach each other
        (slot(3, OWN),),
        (),
    ],
)
def test_what_is_nearly_so(slots: tuple[Gid, ...]) -> None:
    assert ids(check_gid_choices, spark(*slots)) == []


@pytest.mark.parametrize(
    "environment",
    [{"NCCL_IB_GID_INDEX": "5"}, {"NCCL_IB_ADDR_RANGE": "192.168.100.0/24"}, {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}],
)
def test_a_variable_that_decides_ends_the_matter(environment: dict[str, str]) -> None:
    assert ids(check_gid_choices, spark(slot(3, ZEROCONF), slot(5, OWN), **environment)) == []


def test_a_vlan_on_the_port_is_information() -> None:
    fabric = spark(slot(3, OWN), slot(5, "10.9.0.1", f"{PORT}.9"))
    found = only(check_gid_choices, fabric, "gid-choice-among-vlans")
    assert (found.severity, found.subject) == ("info", f"spark-a/{HCA}")
    assert texts(found) == [f"NCCL takes GID 3 {OWN} ({PORT})", f"and not GID 5 10.9.0.1 ({PORT}.9)"]
    assert found.fix[0].endswith("NCCL_IB_ADDR_RANGE=10.9.0.1/32")


def test_the_network_of_a_vlan_is_proposed_where_it_is_known() -> None:
    fabric = spark(slot(3, OWN), slot(5, "10.9.0.1", f"{PORT}.9"))
    netdevs = fabric.nodes[0].netdevs
    assert not isinstance(netdevs, Unknown)
    address = (Address(ip="10.9.0.1", prefix=20, family="ipv4"),)
    vlan = next(one for one in netdevs if one.name == PORT).model_copy(
        update={"name": f"{PORT}.9", "kind": "vlan", "addresses": address}
    )
    fabric = changed(fabric, "spark-a", "node", netdevs=(*netdevs, vlan))
    assert only(check_gid_choices, fabric, "gid-choice-among-vlans").fix[0].endswith("10.9.0.0/20")


def test_a_v1_slot_or_an_unknown_interface_is_no_other_choice() -> None:
    assert ids(check_gid_choices, spark(slot(3, OWN), slot(5, "10.9.0.1", f"{PORT}.9", "IB/RoCE v1"))) == []
    assert ids(check_gid_choices, spark(slot(3, OWN), slot(5, "10.9.0.1", Unknown(unknown="x")))) == []


def test_without_nccls_choice_nothing_is_said() -> None:
    fabric = changed(spark(slot(3, ZEROCONF), slot(5, OWN)), "spark-a", "node", nccl_gids=())
    assert ids(check_gid_choices, fabric) == []
