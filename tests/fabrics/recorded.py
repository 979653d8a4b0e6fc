"""Every recorded fabric by name, and which of them are healthy: no check may say error or warning of those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fabricdoc.model.fabric import Fabric
from tests.fabrics import others, servers, spark

RECORDED: Mapping[str, Callable[[], Fabric]] = MappingProxyType(
    {
        "spark-straight": spark.spark_straight,
        "spark-crossed": spark.spark_crossed,
        "spark-one-cable": spark.spark_one_cable,
        "spark-one-crossed": spark.spark_one_crossed,
        "spark-foreign": spark.spark_foreign,
        "spark-x2": spark.spark_x2,
        "spark-twins-one-subnet": spark.spark_twins_one_subnet,
        "spark-twin-bare": spark.spark_twin_bare,
        "spark-ring": spark.spark_ring,
        "spark-switch": spark.spark_switch,
        "servers": servers.eight_rail_servers,
        "servers-bad-rail": servers.eight_rail_bad,
        "servers-swapped-rails": servers.eight_rail_swapped,
        "container": others.container_node,
        "laptop": others.laptop,
        "ci": others.ci_machine,
    }
)

HEALTHY = (
    "spark-straight", "spark-one-cable", "spark-one-crossed", "spark-switch", "servers", "laptop", "ci",
)  # fmt: skip
