"""Which platform a node is, by whatever is known of it."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.limits import checks_data, limit
from fabricdoc.checks.platforms import functions_by_address, functions_of, gb10, gb10_data, is_gb10, pci_id
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from tests.fabrics.altering import changed
from tests.fabrics.others import laptop
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable

pytestmark = pytest.mark.unit

HIDDEN: Any = Unknown(unknown="x")


def first(fabric: Fabric) -> Node:
    return fabric.nodes[0]


def bare_spark() -> Fabric:
    """A Spark whose GPU, product and PCI bus were not read."""
    return changed(changed(spark_one_cable(), "*", "node", gpus=HIDDEN, pcie=HIDDEN), "*", "host", product=HIDDEN)


def test_a_spark_is_known_by_each_fact_alone() -> None:
    spark = first(spark_one_cable())
    assert not is_gb10(first(bare_spark()))
    assert is_gb10(first(changed(bare_spark(), "*", "node", gpus=spark.gpus)))
    assert is_gb10(first(changed(bare_spark(), "*", "node", pcie=spark.pcie)))
    assert is_gb10(first(changed(bare_spark(), "*", "host", product="NVIDIA NVIDIA_DGX_Spark")))


def test_other_nodes_are_none() -> None:
    assert not is_gb10(first(eight_rail_servers()))
    assert not is_gb10(first(laptop()))


def test_a_gpu_of_another_name_decides_against_the_product() -> None:
    assert not is_gb10(first(changed(eight_rail_servers(), "*", "host", product="DGX Spark lookalike")))


@pytest.mark.parametrize(
    ("vendor", "device", "id"),
    [("0x15b3", "0x1021", "15b3:1021"), ("15B3", "1021", "15b3:1021"), (HIDDEN, "0x1021", ""), ("0x15b3", HIDDEN, "")],
)
def test_ids_of_functions(vendor: Any, device: Any, id: str) -> None:
    fabric = changed(spark_one_cable(), "*", "pcie", "0000:01:00.0", vendor=vendor, device=device)
    assert pci_id(functions_by_address(first(fabric))["0000:01:00.0"]) == id


def test_functions_that_were_not_read_are_none() -> None:
    assert functions_of(first(bare_spark())) == ()
    assert functions_by_address(first(bare_spark())) == {}


def test_the_numbers_of_the_platform() -> None:
    assert gb10() == (200_000, "15b3:1021", 4, 32.0, 4)
    assert all(row["told"] and row["better"] and row["pattern"] for row in gb10_data()["bad"])


def test_limits_are_numbers_by_family_and_name() -> None:
    assert limit("gpu", "busy_percent") == 90.0
    assert all(isinstance(value, int | float) for family in checks_data("limits").values() for value in family.values())
    with pytest.raises(KeyError):
        limit("gpu", "no_such_limit")
