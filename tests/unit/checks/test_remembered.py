"""Answers kept by object: asked once, freed with it, never taken for another one's."""

from __future__ import annotations

import gc
import weakref

import pytest

from fabricdoc.checks.ports import fabric_netdevs, networks, roce_ports
from fabricdoc.checks.remembered import remembered
from fabricdoc.checks.segments import segments_of
from fabricdoc.model.fabric import Netdev, Node
from tests.fabrics import crossed_pair, hca, netdev, node
from tests.fabrics.spark import spark_one_cable

pytestmark = pytest.mark.unit


def counted() -> tuple[list[str], object]:
    asked: list[str] = []

    @remembered
    def name(one: Netdev) -> str:
        """The name."""
        asked.append(one.name)
        return one.name

    return asked, name


def test_an_object_is_asked_once_and_its_equal_again() -> None:
    asked, name = counted()
    first = netdev("p0")
    assert [name(first), name(first), name(first.model_copy())] == ["p0"] * 3  # type: ignore[operator]
    assert asked == ["p0", "p0"]


def test_what_was_changed_by_a_copy_gets_an_answer_of_its_own() -> None:
    one = node("alpha", netdevs=[netdev("p0", ip="10.0.0.1")], hcas=[hca("mlx5_0", "p0")])
    assert [port.hca.name for port in roce_ports(one)] == ["mlx5_0"]
    assert roce_ports(one.model_copy(update={"hcas": ()})) == ()


def test_answers_die_with_their_object_and_never_answer_for_the_next_one() -> None:
    asked, name = counted()
    for number in range(2000):
        one = netdev(f"p{number}")
        assert name(one) == f"p{number}"  # type: ignore[operator]
        del one
    assert len(asked) == 2000
    kept = name.__closure__  # type: ignore[attr-defined]
    assert all(len(cell.cell_contents) == 0 for cell in kept if isinstance(cell.cell_contents, dict))


@pytest.mark.long
@pytest.mark.parametrize("ask", [roce_ports, fabric_netdevs, networks, segments_of])
def test_no_answer_keeps_what_it_is_about_alive(ask: object) -> None:
    fabric = spark_one_cable()
    one: object = fabric if ask is segments_of else fabric.nodes[0] if ask is not networks else netdev("p0")
    gone = weakref.ref(one)
    ask(one)  # type: ignore[operator]
    del one, fabric
    gc.collect()
    assert gone() is None


@pytest.mark.long
def test_a_check_of_a_whole_fabric_leaves_nothing_behind() -> None:
    from fabricdoc.checks import check_fabric

    fabric = crossed_pair()
    gone = [weakref.ref(fabric), *(weakref.ref(one) for one in fabric.nodes)]
    check_fabric(fabric)
    del fabric
    gc.collect()
    assert [one() for one in gone] == [None] * 3


def test_the_name_and_docstring_stay() -> None:
    assert roce_ports.__name__ == "roce_ports"
    assert roce_ports.__doc__ is not None
    assert isinstance(node("x"), Node)
