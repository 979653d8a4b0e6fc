"""The cable map of labs with real faults: each changes links or addresses, and the map names id, node and port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from fabricdoc.fabric.heard import DIRECT, SWITCHED
from fabricdoc.lab import Lab, LabSpec, open_lab
from tests.lab.cabling import (
    CUT,
    F0,
    F1,
    HAIRPIN,
    PING,
    SET_MTU,
    TWINS,
    done,
    finding,
    found,
    links_of,
    mapped,
    named,
    specs_of,
    told,
)
from tests.lab.conftest import Inside

pytestmark = pytest.mark.lab


@pytest.fixture
def ring() -> Iterator[Lab]:
    """Three nodes, each cabled from its first port to the second port of the next, that have never spoken yet."""
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as opened:
        yield opened


def test_a_ring_of_three_is_three_cables_from_first_to_second_port(ring: Lab) -> None:
    fabric = mapped(specs_of(ring))
    assert told(fabric) == [
        (f"alpha/{F0}", f"beta/{F1}", "cable"),
        (f"alpha/{F1}", f"gamma/{F0}", "cable"),
        (f"beta/{F0}", f"gamma/{F1}", "cable"),
    ]
    assert {link.proof.detail for link in links_of(fabric)} == {DIRECT}
    assert found(fabric, "port-without-peer", "port-leads-elsewhere", "link-one-way") == []


def test_a_port_that_leads_to_a_machine_not_named_is_not_linked_and_says_who_is_there(
    ring: Lab, inside: Inside
) -> None:
    """Alpha's second port and beta's first lead to gamma, which is not among the nodes; alpha has spoken to it."""
    gamma = named(ring, "gamma")
    assert done(inside(named(ring, "alpha").pid, PING, gamma.addresses[0])) == gamma.addresses[0]
    fabric = mapped(specs_of(ring, ["alpha", "beta"]))
    assert told(fabric) == [(f"alpha/{F0}", f"beta/{F1}", "cable")]
    assert found(fabric, "port-without-peer", "port-leads-elsewhere") == [
        ("port-leads-elsewhere", f"alpha/{F1}"),
        ("port-without-peer", f"beta/{F0}"),
    ]
    stranger = finding(fabric, "port-leads-elsewhere", f"alpha/{F1}").evidence[-1]
    assert stranger.file == "alpha"
    assert stranger.text.startswith(f"{F1}: {gamma.addresses[0]} is at ")


def test_four_nodes_on_a_bridge_are_segments_with_a_switch_between() -> None:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma", "delta"), cabling="straight")) as lab:
        fabric = mapped(specs_of(lab))
    names = ("alpha", "beta", "delta", "gamma")
    assert {(a, b) for a, b, _ in told(fabric)} == {
        (f"{one}/{port}", f"{other}/{port}")
        for port in (F0, F1)
        for number, one in enumerate(names)
        for other in names[number + 1 :]
    }
    assert {(link.kind, link.proof.detail) for link in links_of(fabric)} == {("segment", SWITCHED)}


def test_two_nodes_on_a_switch_are_told_from_two_on_a_cable() -> None:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), rails=1)) as lab:
        fabric = mapped(specs_of(lab, ["alpha", "beta"]))
    assert [(link.a.netdev, link.b.netdev, link.proof.detail) for link in links_of(fabric)] == [(F0, F0, SWITCHED)]


def test_ports_of_one_node_that_hear_one_another_are_a_loop_and_no_cable(inside: Inside) -> None:
    with open_lab(LabSpec()) as lab:
        done(inside(named(lab, "alpha").pid, TWINS))
        alpha, beta = specs_of(lab)
        fabric = mapped([replace(alpha, ports=(*alpha.ports, "twin*")), beta])
    assert told(fabric) == [
        (f"alpha/{F0}", f"beta/{F1}", "cable"),
        (f"alpha/{F1}", f"beta/{F0}", "cable"),
        ("alpha/twin0", "alpha/twin1", "loop"),
    ]


def test_a_port_whose_own_frames_come_back_is_named(inside: Inside) -> None:
    """The far end is a switch that sends frames back where they came from, as a loop in it would."""
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as lab:
        done(inside(named(lab, "gamma").pid, HAIRPIN, F0))
        done(inside(named(lab, "gamma").pid, HAIRPIN.replace("echo", "echo1"), F1))
        fabric = mapped(specs_of(lab, ["alpha", "beta"]))
    assert told(fabric) == [(f"alpha/{F0}", f"beta/{F1}", "cable")]
    assert found(fabric, "port-hears-itself", "port-without-peer") == [
        ("port-without-peer", f"alpha/{F1}"),
        ("port-without-peer", f"beta/{F0}"),
        ("port-hears-itself", f"alpha/{F1}"),
        ("port-hears-itself", f"beta/{F0}"),
    ]
    assert "6 of its own frames" in finding(fabric, "port-hears-itself", f"beta/{F0}").evidence[0].text


def test_a_cable_cut_in_one_direction_is_one_way_and_says_which(inside: Inside) -> None:
    with open_lab(LabSpec()) as lab:
        assert done(inside(named(lab, "beta").pid, CUT, F0)) == ""
        fabric = mapped(specs_of(lab))
    assert told(fabric) == [(f"alpha/{F0}", f"beta/{F1}", "cable"), (f"alpha/{F1}", f"beta/{F0}", "one-way")]
    one = finding(fabric, "link-one-way", f"alpha/{F1} - beta/{F0}")
    assert one.severity == "error"
    assert one.evidence[0].text.startswith("frames to beta: ")
    assert one.evidence[0].text.endswith(", back: 0")
    assert links_of(fabric)[1].proof.frames_a_to_b >= 6
    assert found(fabric, "port-without-peer") == []


def test_ends_of_one_cable_with_mtu_1500_and_9000_are_still_linked_and_named(inside: Inside) -> None:
    with open_lab(LabSpec()) as lab:
        done(inside(named(lab, "beta").pid, SET_MTU, F0, 1500))
        fabric = mapped(specs_of(lab))
    assert told(fabric) == [(f"alpha/{F0}", f"beta/{F1}", "cable"), (f"alpha/{F1}", f"beta/{F0}", "cable")]
    (one,) = [one for one in fabric.findings if one.id == "mtu-mismatch"]
    text = " ".join(evidence.text for evidence in one.evidence)
    assert {"alpha", "beta"} <= {evidence.file for evidence in one.evidence}
    assert F1 in text
    assert F0 in text
    assert "1500" in text
    assert "9000" in text
