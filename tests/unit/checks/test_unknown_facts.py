"""Every fact of a healthy fabric made unknown, one after the other: no check may fail, warn or say error of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabricdoc.checks.judging import one_node_checks
from fabricdoc.model.documents import Frozen, Unknown
from fabricdoc.model.fabric import Fabric, Node
from tests.fabrics.others import container_node
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_switch

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="not read")
FABRICS = {
    "spark-one-cable": spark_one_cable(),
    "spark-switch": spark_switch(),
    "servers": eight_rail_servers(),
    "container": container_node(host_network=True, device_files=True),
}


def may_be_unknown(model: Frozen) -> list[str]:
    """The fields of a model that take an Unknown."""
    fields = type(model).model_fields
    return [name for name in fields if "Unknown" in str(fields[name].annotation)]


def hidden(model: Frozen) -> Iterator[tuple[str, Frozen]]:
    """(path, copy) with one fact unknown: of the model, and of the first and last member of each of its lists."""
    for name in may_be_unknown(model):
        yield name, model.model_copy(update={name: HIDDEN})
    for name in type(model).model_fields:
        value: Any = getattr(model, name)
        if isinstance(value, Frozen) and not isinstance(value, Unknown):
            yield from ((f"{name}.{path}", model.model_copy(update={name: inner})) for path, inner in hidden(value))
        elif isinstance(value, tuple):
            for at in {0, len(value) - 1} if value and isinstance(value[0], Frozen) else ():
                for path, inner in hidden(value[at]):
                    members = (*value[:at], inner, *value[at + 1 :])
                    yield f"{name}[{at}].{path}", model.model_copy(update={name: members})


def told(fabric: Fabric) -> set[tuple[str, str]]:
    """What the checks of single nodes say beyond information."""
    found = (one for check in one_node_checks() for one in check(fabric))
    return {(one.id, one.subject) for one in found if one.severity != "info"}


@pytest.mark.long
@pytest.mark.parametrize("name", FABRICS)
def test_no_unknown_fact_of_a_node_makes_a_finding(name: str) -> None:
    fabric = FABRICS[name]
    first, *others = fabric.nodes
    usual, paths = told(fabric), 0
    for path, changed in hidden(first):
        assert isinstance(changed, Node)
        paths += 1
        more = told(fabric.model_copy(update={"nodes": (changed, *others)})) - usual
        assert more == set(), path
    assert paths > 100


@pytest.mark.parametrize("name", FABRICS)
def test_a_fabric_of_which_little_is_known_is_silent(name: str) -> None:
    fabric = FABRICS[name]
    sections = {"hcas", "netdevs", "routes", "gpus", "rules", "neighbours", "pcie", "counters", "clock_offset_s"}
    bare = tuple(
        one.model_copy(
            update=dict.fromkeys(sections, HIDDEN)
            | {"host": one.host.model_copy(update=dict.fromkeys(may_be_unknown(one.host), HIDDEN))}
        )
        for one in fabric.nodes
    )
    assert told(fabric.model_copy(update={"nodes": bare})) == set()
