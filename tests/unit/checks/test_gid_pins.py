"""NCCL_IB_GID_INDEX held against the GID tables."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.gid_pins import check_gid_pins
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable, spark_twin_bare
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

A, B = "spark-a/roceP2p1s0f0", "spark-a/rocep1s0f0"


def pinned(value: str, fabric: Fabric | None = None, node: str = "spark-a", **more: str) -> Fabric:
    environment = {"NCCL_IB_GID_INDEX": value, **more}
    return changed(fabric or spark_one_cable(), node, "host", environment=environment)


def table(fabric: Fabric, hca: str, *gids: Gid) -> Fabric:
    return changed(fabric, "spark-a", "port", hca, gids=gids)


def gids_of(hca: str) -> tuple[Gid, ...]:
    hcas = spark_one_cable().nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    found = next(one for one in hcas if one.name == hca).ports[0].gids
    assert not isinstance(found, Unknown)
    return found


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_pin_nothing(name: str) -> None:
    assert ids(check_gid_pins, RECORDED[name]()) == []


def test_a_right_pin_is_information_once_a_node() -> None:
    found = only(check_gid_pins, pinned("3"), "gid-index-pinned")
    assert (found.severity, found.subject) == ("info", "spark-a")
    assert texts(found)[0] == "NCCL_IB_GID_INDEX=3 (environment)"
    assert len(texts(found)) == 3


@pytest.mark.parametrize(
    ("value", "id", "severity"),
    [
        ("0", "gid-index-link-local", "error"),  # the example that circulates: RoCE v1, fe80
        ("1", "gid-index-link-local", "error"),
        ("2", "wrong-gid-index", "warning"),  # RoCE v1 with an IPv4 address: works, without QoS
        ("5", "gid-index-drifted", "error"),  # right once
    ],
)
def test_wrong_pins(value: str, id: str, severity: str) -> None:
    assert ids(check_gid_pins, pinned(value)) == [(id, severity, A), (id, severity, B)]
    found = next(iter(check_gid_pins(pinned(value))))
    assert texts(found)[-1] == "RoCE v2 IPv4 slots of roceP2p1s0f0: 3"
    assert found.fix[0].startswith("on spark-a: unset NCCL_IB_GID_INDEX")


@pytest.mark.parametrize("value", ["-1", ""])
def test_automatic_is_no_pin(value: str) -> None:
    assert ids(check_gid_pins, pinned(value)) == []


def test_one_pin_can_not_be_right_for_twins_that_differ() -> None:
    moved = tuple(gid.model_copy(update={"index": gid.index + 2}) for gid in gids_of("rocep1s0f0") if gid.index > 1)
    fabric = table(pinned("3"), "rocep1s0f0", *gids_of("rocep1s0f0")[:2], *moved)
    found = only(check_gid_pins, fabric, "gid-index-drifted")
    assert (found.subject, texts(found)[-1]) == (B, "RoCE v2 IPv4 slots of rocep1s0f0: 5")


def test_a_twin_without_an_address_has_no_right_index() -> None:
    found = ids(check_gid_pins, pinned("3", spark_twin_bare(), "spark-b"))
    assert found == [("wrong-gid-index", "error", "spark-b/roceP2p1s0f0")]


def test_only_hcas_that_nccl_takes_are_held_against_it() -> None:
    fabric = pinned("3", spark_twin_bare(), "spark-b", NCCL_IB_HCA="=rocep1s0f0")
    assert [id for id, *_rest in ids(check_gid_pins, fabric)] == ["gid-index-pinned"]


def test_what_was_not_read_is_not_judged() -> None:
    unread = changed(pinned("0"), "spark-a", "port", "*", gids=Unknown(unknown="x"))
    assert ids(check_gid_pins, unread) == []


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"type": Unknown(unknown="EINVAL")}, "gid-index-pinned"),
        ({"type": "RoCE v2", "ipv4": None, "gid": "fd00:0000:0000:0000:0000:0000:0000:0001"}, "gid-index-pinned"),
        ({"type": "IB/RoCE v1"}, "wrong-gid-index"),
        ({"link_local": True, "ipv4": None}, "gid-index-link-local"),
    ],
)
def test_what_the_slot_holds(facts: dict[str, Any], told: str) -> None:
    fabric = pinned("3", NCCL_IB_HCA="=rocep1s0f0")
    slots = (gid.model_copy(update=facts) if gid.index == 3 else gid for gid in gids_of("rocep1s0f0"))
    assert [id for id, *_rest in ids(check_gid_pins, table(fabric, "rocep1s0f0", *slots))] == [told]


@pytest.mark.parametrize(("value", "wanted"), [("auto", "gid-index-link-local"), ("3.0", "gid-index-pinned")])
def test_text_is_a_number_as_nccl_reads_it(value: str, wanted: str) -> None:
    assert {id for id, *_rest in ids(check_gid_pins, pinned(value))} == {wanted}
