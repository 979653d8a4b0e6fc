"""lsmod: the modules that matter, the list being whole."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit


def test_the_modules_that_matter() -> None:
    text = fixture("lsmod.txt")
    assert facts(text) == {("host", "modules"): ["ib_uverbs", "mlx5_ib", "nvidia_peermem"]}
    assert tools(text) == [("lsmod", 1, 5)]


def test_none_of_them_is_a_fact_where_the_list_has_its_head() -> None:
    assert facts("Module                  Size  Used by\next4 1134592 1\n") == {("host", "modules"): []}
    assert facts("$ lsmod | grep nothing\next4 1134592 1\n") == {}
