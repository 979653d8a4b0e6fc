"""Healthy fabrics under small variations that leave them healthy: no check, of one node or between, warns of any."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabricdoc.checks import check_fabric
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed, without
from tests.fabrics.healthy import VARIATIONS
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import whole

pytestmark = pytest.mark.unit

NAMES = sorted(VARIATIONS)


def alarms(fabric: Fabric) -> list[tuple[str, str]]:
    """Errors and warnings of all checks; every finding is checked to be whole."""
    return [(one.id, one.subject) for one in map(whole, check_fabric(fabric)) if one.severity != "info"]


def varied(fabric: Fabric, names: list[str]) -> Fabric:
    """The fabric after these variations, one after the other."""
    for name in names:
        fabric = VARIATIONS[name](fabric)
    return fabric


@pytest.mark.parametrize("variation", NAMES)
@pytest.mark.parametrize("name", HEALTHY)
def test_one_variation_alarms_nobody(name: str, variation: str) -> None:
    assert alarms(varied(RECORDED[name](), [variation])) == []


@pytest.mark.long
@given(st.sampled_from(HEALTHY), st.lists(st.sampled_from(NAMES), min_size=2, max_size=6))
@example("spark-one-cable", ["renamed", "mtu-1500", "no-gpu-facts", "kernel-log-unreadable", "shuffled-1", "vfs"])
@example("spark-straight", ["vfs", "renamed", "no-nccl", "mtu-4200", "nodes-turned"])
@example("servers", ["shuffled-2", "vfs", "mtu-1500", "links-unknown", "vague-gpus"])
def test_several_variations_alarm_nobody(name: str, names: list[str]) -> None:
    assert alarms(varied(RECORDED[name](), names)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["spark-one-cable", "spark-straight", "servers"])
@given(names=st.lists(st.sampled_from(NAMES), max_size=4))
def test_one_node_of_them_alone_alarms_nobody(name: str, names: list[str]) -> None:
    fabric = varied(RECORDED[name](), names)
    assert alarms(without(fabric, *(node.name for node in fabric.nodes[1:]))) == []


# --- the variations do what they say, and do not hide a fault -------------------------------------------------------


def test_every_variation_changes_something_and_keeps_a_whole_document() -> None:
    fabric = RECORDED["spark-one-cable"]()
    for name, vary in VARIATIONS.items():
        found = vary(fabric)
        assert Fabric.model_validate_json(found.model_dump_json()) == found, name
        assert found != fabric or name == "mtu-9000", name


def test_renamed_hcas_are_renamed_everywhere() -> None:
    fabric = VARIATIONS["renamed"](RECORDED["spark-one-cable"]())
    assert re.findall(r"roceP?\d*p1s0f\d", fabric.model_dump_json()) == []
    assert isinstance(fabric.links, tuple) and {one.a.hca for one in fabric.links} == {"mlx5_0", "mlx5_2"}


def test_virtual_functions_are_there_and_down() -> None:
    for node in VARIATIONS["vfs"](RECORDED["servers"]()).nodes:
        assert isinstance(node.hcas, tuple)
        virtual = [hca for hca in node.hcas if hca.physical_function]
        assert len(virtual) == 2 and all(hca.ports[0].state == "DOWN" for hca in virtual)


FAULTS = {
    "spark-x2": "pcie-width-low",
    "spark-twins-one-subnet": "nics-share-subnet",
    "spark-twin-bare": "gid-auto-selected-link-local",
    "servers-bad-rail": "pcie-width-low",
}
HARMLESS = [name for name in NAMES if name not in ("no-pcie", "no-counters")]


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
@given(names=st.lists(st.sampled_from(HARMLESS), max_size=4))
def test_a_fault_is_told_under_every_variation(name: str, names: list[str]) -> None:
    assert FAULTS[name] in {id_ for id_, _subject in alarms(varied(RECORDED[name](), names))}


@pytest.mark.long
@given(st.lists(st.sampled_from([name for name in NAMES if not name.startswith("mtu")]), max_size=4))
def test_an_mtu_of_one_end_alone_is_told_under_every_variation(names: list[str]) -> None:
    fabric = changed(spark_one_cable(), "spark-b", "netdev", "enp1s0f0np0", mtu=1500)
    found = {id_ for id_, _subject in alarms(varied(fabric, names))}
    assert found & {"mtu-mismatch", "twin-mtu-differs"}, names


def test_a_healthy_fabric_has_links_or_says_why_not() -> None:
    for name in HEALTHY:
        links = RECORDED[name]().links
        assert isinstance(links, Unknown) or links, name
