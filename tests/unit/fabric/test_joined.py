"""Which ports are joined already: directly, on one switch, through a twin; never by a loop."""

from __future__ import annotations

import pytest

from fabricdoc.fabric.joined import Agreed
from tests.fabrics import crossed_pair, link
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit


def test_direct_links_and_groups_join() -> None:
    links = (
        link(("alpha", "p0", None), ("beta", "p0", None), kind="segment"),
        link(("beta", "p0", None), ("gamma", "p0", None), kind="segment"),
        link(("alpha", "p1", None), ("beta", "p1", None)),
    )
    agreed = Agreed(links, crossed_pair().nodes)
    assert agreed.joins((("alpha", "p0"), ("beta", "p0")))
    assert agreed.joins((("alpha", "p0"), ("gamma", "p0")))
    assert not agreed.joins((("alpha", "p0"), ("beta", "p1")))
    assert not agreed.joins((("alpha", "p0"), ("delta", "p0")))
    assert links[2].ends == (("alpha", "p1"), ("beta", "p1"))


def test_a_loop_joins_nothing() -> None:
    loop = link(("alpha", "p0", None), ("alpha", "p1", None), kind="loop")
    assert not Agreed([loop], ()).joins((("alpha", "p0"), ("alpha", "p1")))


def test_twins_of_a_cage_count_for_each_other_and_cages_stay_apart() -> None:
    spark = spark_straight()
    one = link(("spark-a", "enp1s0f0np0", None), ("spark-b", "enp1s0f0np0", None))
    agreed = Agreed([one], spark.nodes)
    assert agreed.joins((("spark-a", "enP2p1s0f0np0"), ("spark-b", "enp1s0f0np0")))
    assert not agreed.joins((("spark-a", "enp1s0f1np1"), ("spark-b", "enp1s0f0np0")))
