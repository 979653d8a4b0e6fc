"""What NCCL_SOCKET_IFNAME would take on real interfaces: the answer follows the lab's links as they change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabricdoc.fabric import matched, questions
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, NodeMatch
from tests.lab.cabling import CUT, F0, F1, LINK, done, mapped, named, specs_of
from tests.lab.conftest import Inside

pytestmark = pytest.mark.lab

SET_DOWN = LINK + "ip.link('set', index=at, state='down')"


@pytest.fixture
def pair() -> Iterator[Lab]:
    with open_lab(LabSpec()) as opened:
        yield opened


def taken(fabric: Fabric, word: str) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    (match,) = matched(fabric, questions([word])).matches
    return {one.node: list(_rows(one)) for one in match.nodes}


def _rows(one: NodeMatch) -> Iterator[tuple[str, tuple[str, ...]]]:
    assert not isinstance(one.ports, Unknown)
    for port in one.ports:
        assert isinstance(port.netdev, str)
        assert not isinstance(port.peers, Unknown)
        yield port.netdev, port.peers


def test_each_port_is_taken_with_the_port_that_it_meets(pair: Lab) -> None:
    found = taken(mapped(specs_of(pair)), "NCCL_SOCKET_IFNAME=enp1s0f")
    assert {node: sorted(ports) for node, ports in found.items()} == {
        "alpha": [(F0, (f"beta/{F1}",)), (F1, (f"beta/{F0}",))],
        "beta": [(F0, (f"alpha/{F1}",)), (F1, (f"alpha/{F0}",))],
    }


def test_a_port_set_down_is_not_taken_and_its_neighbour_meets_nobody(pair: Lab, inside: Inside) -> None:
    done(inside(named(pair, "beta").pid, SET_DOWN, F0))
    fabric = mapped(specs_of(pair))
    found = taken(fabric, f"NCCL_SOCKET_IFNAME=={F0},{F1}")
    assert found == {"alpha": [(F0, (f"beta/{F1}",))], "beta": [(F1, (f"alpha/{F0}",))]}
    (match,) = matched(fabric, questions([f"NCCL_SOCKET_IFNAME=={F0},{F1}"])).matches
    assert match.nodes[1].remarks == (f"{F0!r} fits only interfaces that are down or have no address: {F0}",)


def test_a_port_whose_cable_carries_one_way_only_has_no_proven_peer(pair: Lab, inside: Inside) -> None:
    done(inside(named(pair, "beta").pid, CUT, F0))
    found = taken(mapped(specs_of(pair)), "NCCL_SOCKET_IFNAME=enp1s0f")
    assert found["alpha"] == [(F0, (f"beta/{F1}",)), (F1, ())]
