"""Kernels and drivers with a bad report, and governors."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.system import check_system
from fabricdoc.model.documents import Unknown
from tests.fabrics.altering import changed
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_system, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("fact", "value", "id"),
    [
        ("kernel", "6.17.0-1021-nvidia", "kernel-known-bad"),
        ("kernel", "6.17.0-1029-nvidia-64k", "kernel-known-bad"),
        ("kernel", "6.17.0-1021", "kernel-known-bad"),
        ("kernel", "7.0.0-1019-nvidia", "kernel-known-bad"),
        ("kernel", "6.17.0-10210-nvidia", None),
        ("kernel", "6.17.0-1031-nvidia", None),
        ("kernel", "16.17.0-1021", None),
        ("nvidia_driver", "590.44.01", "driver-known-bad"),
        ("nvidia_driver", "580.590.02", None),
        ("nvidia_driver", "5900.1", None),
        ("kernel", Unknown(unknown="x"), None),
    ],
)
def test_versions_with_a_report(fact: str, value: Any, id: str | None) -> None:
    fabric = changed(spark_one_cable(), "spark-a", "host", **{fact: value})
    assert ids(check_system, fabric) == ([(id, "warning", "spark-a")] if id else [])
    if id:
        found = only(check_system, fabric, id)
        assert (texts(found), found.confidence) == ([f"{fact.replace('_', ' ')} {value}"], "possible")
        assert "580.173.02" in found.fix[0]


def test_other_platforms_have_no_such_report() -> None:
    fabric = changed(eight_rail_servers(), "*", "host", kernel="6.17.0-1021", nvidia_driver="590.1")
    assert ids(check_system, fabric) == []


@pytest.mark.parametrize(
    ("governor", "told"),
    [("powersave", True), ("conservative, performance", True), ("performance", False), ("schedutil", False)],
)
def test_governors(governor: str, told: bool) -> None:
    fabric = changed(spark_one_cable(), "spark-b", "host", governor=governor)
    assert ids(check_system, fabric) == ([("cpu-governor-slow", "info", "spark-b")] if told else [])


def test_powersave_of_intels_driver_is_quick_and_an_unread_one_unjudged() -> None:
    assert ids(check_system, changed(eight_rail_servers(), "*", "host", governor="powersave")) == []
    assert ids(check_system, changed(spark_one_cable(), "*", "host", governor=Unknown(unknown="x"))) == []
    dark = changed(spark_one_cable(), "*", "port", "*", state="DOWN")
    assert ids(check_system, changed(dark, "*", "host", governor="powersave")) == []
