"""The best single rail by what was read, and what ports lack that are on none."""

from __future__ import annotations

import pytest

from fabricdoc.bench.single_rail import best_first, lacking
from fabricdoc.fabric import rails_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics import crossed_pair
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_pair

pytestmark = pytest.mark.unit


def first(fabric: Fabric) -> str:
    return best_first(rails_of(fabric), fabric)[0].ports[0].netdev


def test_equal_rails_keep_their_order() -> None:
    fabric = crossed_pair()
    assert best_first(rails_of(fabric), fabric) == rails_of(fabric)
    assert best_first((), fabric) == ()


@pytest.mark.parametrize(("fact", "less"), [("speed_mbps", 1000), ("mtu", 1500)])
def test_a_worse_end_anywhere_makes_a_rail_the_worse_one(fact: str, less: int) -> None:
    fabric = crossed_pair()
    assert first(fabric) == "p0"
    assert first(changed(fabric, "beta", "netdev", "p1", **{fact: less})) == "p1"  # beta/p1 is the end of alpha/p0
    assert first(changed(fabric, "beta", "netdev", "p0", **{fact: less})) == "p0"


def test_speed_counts_before_mtu_and_what_is_unknown_counts_as_nothing() -> None:
    fabric = changed(crossed_pair(), "alpha", "netdev", "p0", mtu=1500)
    assert first(changed(fabric, "alpha", "netdev", "p1", speed_mbps=1000)) == "p0"
    assert first(changed(crossed_pair(), "alpha", "netdev", "p0", speed_mbps=Unknown(unknown="?"))) == "p1"


def test_a_narrow_pcie_link_makes_a_twin_the_worse_one() -> None:
    whole = spark_pair("one")
    assert first(whole) == "enp1s0f0np0"
    assert first(changed(whole, "spark-b", "pcie", "0000:01:00.0", current_width=2)) == "enP2p1s0f0np0"
    assert first(spark_pair("one", narrow=1)) == "enp1s0f0np0"


def test_nothing_lacks_where_every_port_is_on_a_rail() -> None:
    fabric = crossed_pair()
    assert lacking(fabric, rails_of(fabric)) == ()


def without_second_link(**facts: object) -> tuple[str, ...]:
    fabric = crossed_pair()
    one = fabric.model_copy(update={"links": fabric.links[:1]})  # type: ignore[index]
    if facts:
        one = changed(one, "alpha", "netdev", "p1", **facts)
    return lacking(one, rails_of(one))


def test_a_spark_pair_with_one_cable_names_the_empty_cage() -> None:
    fabric = spark_pair("one")
    told = lacking(fabric, rails_of(fabric))
    assert len(told) == 4
    assert all("no cable" in text for text in told)
    assert told[0].startswith("spark-a/enp1s0f1np1 (rocep1s0f1)")


def test_what_links_say_of_a_port() -> None:
    fabric = crossed_pair()
    links = fabric.links
    assert not isinstance(links, Unknown)
    for change, said in (
        ({"kind": "one-way"}, "frames pass one way only"),
        ({"rdma": False}, "RDMA messages do not pass over its link"),
        ({"kind": "loop"}, "it meets a port of its own node"),
    ):
        bad = fabric.model_copy(update={"links": (links[0], links[1].model_copy(update=change))})
        told = lacking(bad, rails_of(bad))
        assert len(told) == 2
        assert all(said in text for text in told), told


def test_a_port_without_an_address_or_without_a_link() -> None:
    fabric = spark_pair("straight")
    bare = changed(fabric, "spark-a", "netdev", "enp1s0f1np1", addresses=())
    unlinked = bare.model_copy(update={"links": ()})
    told = dict(text.split(": ", 1) for text in lacking(unlinked, ()))
    assert told["spark-a/enp1s0f1np1 (rocep1s0f1)"].startswith("it has no IPv4 address, and no link")
    assert told["spark-a/enp1s0f0np0 (rocep1s0f0)"].startswith("no link is proven")
    unknown = fabric.model_copy(update={"links": Unknown(unknown="no raw sockets")})
    assert all("unknown: no raw sockets" in text for text in lacking(unknown, ()))
