"""lsmod: the modules that matter, the list being whole."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.formats import lsmod
from fabricdoc.probes import machine
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit


def test_the_modules_that_matter() -> None:
    text = fixture("lsmod.txt")
    assert facts(text) == {("host", "modules"): ["ib_uverbs", "mlx5_ib", "nvidia_peermem"]}
    assert tools(text) == [("lsmod", 1, 5)]


def test_none_of_them_is_a_fact_where_the_list_has_its_head() -> None:
    assert facts("Module                  Size  Used by\next4 1134592 1\n") == {("host", "modules"): []}
    assert facts("$ lsmod | grep nothing\next4 1134592 1\n") == {}


def test_they_are_those_that_the_probe_watches_in_its_order() -> None:
    assert lsmod.WATCHED == machine.WATCHED
    text = "Module  Size  Used by\nrdma_cm 1 0\nib_core 1 1 rdma_cm\niw_cm 1 1 rdma_cm\nbonding 1 0\n"
    assert facts(text) == {("host", "modules"): ["bonding", "ib_core", "rdma_cm"]}
