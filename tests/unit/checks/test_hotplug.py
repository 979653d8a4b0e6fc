"""DGX Spark's card and its hot-plug handler."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.hotplug import check_hotplug
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.others import container_node
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

ALL = ("0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1")


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_have_whole_cards(name: str) -> None:
    assert {id for id, *_rest in ids(check_hotplug, RECORDED[name]())} <= {"cx7-hotplug-armed"}


def test_the_armed_handler_is_information_and_disarmed_it_is_nothing() -> None:
    found = only(check_hotplug, changed(spark_one_cable(), "spark-b", "host", hotplug_armed=False), "cx7-hotplug-armed")
    assert (found.severity, found.subject) == ("info", "spark-a")
    assert "sudo rm /etc/nvidia/cx7-hotplug-enabled" in found.fix
    assert ids(check_hotplug, changed(spark_one_cable(), "*", "host", hotplug_armed=False)) == []
    assert ids(check_hotplug, changed(eight_rail_servers(), "*", "host", hotplug_armed=True)) == []


def with_functions(*addresses: str, armed: Any = True) -> Fabric:
    fabric = changed(spark_one_cable(), "*", "host", hotplug_armed=armed)
    one = fabric.nodes[0]
    assert not isinstance(one.pcie, Unknown) and not isinstance(one.hcas, Unknown)
    gone = [address for address in ALL if address not in addresses]
    pcie = tuple(function for function in one.pcie if function.address not in gone)
    hcas = tuple(hca for hca in one.hcas if hca.pci not in gone)
    return changed(fabric, "spark-a", "node", pcie=pcie, hcas=hcas)


def errors(fabric: Fabric) -> list[str]:
    return [id for id, severity, _subject in ids(check_hotplug, fabric) if severity == "error"]


@pytest.mark.parametrize(
    ("there", "armed", "told"),
    [
        (ALL, True, False),
        (ALL[:2], True, True),  # the survivor of a peer's reboot: two of four
        (ALL[:1], False, True),
        ((), True, False),  # no cable in: the handler saves power
        ((), False, True),
        ((), Unknown(unknown="x"), False),
    ],
)
def test_functions_of_the_card(there: tuple[str, ...], armed: Any, told: bool) -> None:
    assert errors(with_functions(*there, armed=armed)) == (["cx7-functions-missing"] if told else [])


def test_missing_functions_are_counted_in_the_evidence() -> None:
    found = only(check_hotplug, with_functions(*ALL[:2]), "cx7-functions-missing")
    assert found.subject == "spark-a"
    assert texts(found) == ["2 of 4 functions: 0000:01:00.0, 0000:01:00.1"]
    assert found.fix[0] == "reboot all nodes of the fabric together"


def test_without_the_list_of_functions_nothing_is_counted() -> None:
    assert errors(changed(with_functions(), "*", "node", pcie=Unknown(unknown="x"))) == []


def without_hca(fabric: Fabric, name: str) -> Fabric:
    hcas = fabric.nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    return changed(fabric, fabric.nodes[0].name, "node", hcas=tuple(hca for hca in hcas if hca.name != name))


def test_a_function_without_an_rdma_device() -> None:
    found = only(check_hotplug, without_hca(spark_one_cable(), "rocep1s0f1"), "rdma-device-missing")
    assert (found.severity, found.subject) == ("error", "spark-a")
    assert texts(found) == ["0000:01:00.1 has no RDMA device"]


def test_in_a_container_or_a_bond_devices_may_be_hidden() -> None:
    fabric = without_hca(spark_one_cable(), "rocep1s0f1")
    assert errors(changed(fabric, "spark-a", "container", kind="docker")) == []
    assert errors(changed(fabric, "spark-a", "hca", "rocep1s0f0", bond="bond0")) == []
    assert errors(changed(fabric, "spark-a", "hca", "rocep1s0f0", pci=Unknown(unknown="x"))) == []
    assert errors(changed(fabric, "spark-a", "node", hcas=Unknown(unknown="x"))) == []
    assert errors(container_node()) == []
