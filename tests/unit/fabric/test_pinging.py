"""What datagrams mean: a weak proof beside a better one, a black hole only where both MTUs allow the frame, no link."""

from __future__ import annotations

import pytest

from fabricdoc.checks import judged
from fabricdoc.fabric.pinging import pinged
from fabricdoc.fabric.tried import Asked
from fabricdoc.fabric.ways import Place
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link, Neighbour
from fabricdoc.model.findings import Finding
from tests.fabrics import crossed_pair, link

pytestmark = pytest.mark.unit

A0 = Place("alpha", "p0", "10.77.0.1", "10.77.0.0/24", 9000)
A1 = Place("alpha", "p1", "10.77.1.1", "10.77.1.0/24", 9000)
B1 = Place("beta", "p1", "10.77.0.2", "10.77.0.0/24", 9000)
G0 = Place("gamma", "p0", "10.77.0.3", "10.77.0.0/24", 9000)


def asks(a: Place, b: Place, *, small: bool = True, large: bool = True, by: str = "", reason: str = "") -> list[Asked]:
    via = by or b.netdev
    return [
        Asked(a, b, 56, small, via if small else ""),
        Asked(a, b, 8972, large, via if large else "", "" if large else reason),
    ]


BOTH = [*asks(A0, B1), *asks(B1, A0)]


def links(fabric: Fabric) -> tuple[Link, ...]:
    assert not isinstance(fabric.links, Unknown)
    return fabric.links


def ids(fabric: Fabric) -> list[tuple[str, str, str]]:
    return [(one.id, one.severity, one.subject) for one in fabric.findings]


def test_a_link_gains_a_weak_proof() -> None:
    fabric = pinged(crossed_pair(), BOTH)
    (proof,) = links(fabric)[0].more_proofs
    assert (proof.method, proof.frames_a_to_b, proof.frames_b_to_a) == ("ping", 2, 2)
    assert proof.detail == (
        "to beta 10.77.0.2: 56 and 8972 bytes arrived; to alpha 10.77.0.1: 56 and 8972 bytes arrived"
    )
    assert links(fabric)[0].proof.method == "beacon"
    assert links(fabric)[1].more_proofs == ()
    assert ids(fabric) == []


def test_a_link_without_an_answer_gains_nothing() -> None:
    nothing = [*asks(A0, B1, small=False, large=False), *asks(B1, A0, small=False, large=False)]
    fabric = pinged(crossed_pair(), nothing)
    assert links(fabric)[0].more_proofs == ()
    assert ids(fabric) == []


def test_neighbour_tables_are_quoted() -> None:
    entry = Neighbour(ip="10.77.0.2", netdev="p0", mac="02:00:00:00:02:01", state="reachable")
    elsewhere = entry.model_copy(update={"netdev": "p1"})
    alpha, beta = crossed_pair().nodes
    nodes = (alpha.model_copy(update={"neighbours": (elsewhere, entry)}), beta)
    fabric = pinged(crossed_pair().model_copy(update={"nodes": nodes}), BOTH)
    assert (
        links(fabric)[0]
        .more_proofs[0]
        .detail.endswith("; neighbour table of alpha: 10.77.0.2 is 02:00:00:00:02:01 on p0 (reachable)")
    )


def test_large_frames_lost_on_a_proven_link_name_both_ends() -> None:
    fabric = pinged(crossed_pair(), [*asks(A0, B1, large=False), *asks(B1, A0, large=False)])
    assert ids(fabric) == [("mtu-black-hole", "error", "alpha/p0 - beta/p1")]
    (hole,) = fabric.findings
    assert [one.text for one in hole.evidence] == [
        "p0 10.77.0.1 to beta/p1 10.77.0.2: 56 bytes arrived, 8972 bytes (a frame of the MTU) did not, DF set",
        "p1 10.77.0.2 to alpha/p0 10.77.0.1: 56 bytes arrived, 8972 bytes (a frame of the MTU) did not, DF set",
        "p0 mtu 9000",
        "p1 mtu 9000",
    ]
    assert [one.file for one in hole.evidence] == ["alpha", "beta", "alpha", "beta"]
    assert "9000 bytes" in hole.cause
    assert "p0 on alpha, p1 on beta" in hole.fix[1]
    assert links(fabric)[0].more_proofs[0].detail.startswith("to beta 10.77.0.2: 56 bytes arrived, 8972 did not")
    assert [one.id for one in judged(fabric).findings if one.id == "mtu-black-hole"]


def test_a_hole_that_rdma_met_already_gets_the_datagrams_as_evidence() -> None:
    met = Finding(id="rdma-mtu-black-hole", severity="error", subject="alpha/p0 - beta/p1", cause="Packets are lost.")
    other = met.model_copy(update={"subject": "alpha/p1 - beta/p0"})
    fabric = crossed_pair().model_copy(update={"findings": (met, other)})
    found = pinged(fabric, asks(A0, B1, large=False)).findings
    assert [(one.id, one.subject, len(one.evidence)) for one in found] == [
        ("rdma-mtu-black-hole", "alpha/p0 - beta/p1", 3),
        ("rdma-mtu-black-hole", "alpha/p1 - beta/p0", 0),
    ]
    assert found[0].cause == "Packets are lost."


def test_a_hole_is_told_alike_whichever_node_answered_first() -> None:
    there, back = asks(A0, B1, large=False), asks(B1, A0, large=False)
    assert pinged(crossed_pair(), [*back, *there]).findings == pinged(crossed_pair(), [*there, *back]).findings


def test_one_direction_is_enough_and_told_as_one() -> None:
    fabric = pinged(crossed_pair(), [*asks(A0, B1), *asks(B1, A0, large=False)])
    (hole,) = fabric.findings
    assert [one.file for one in hole.evidence if "DF set" in one.text] == ["beta"]


@pytest.mark.parametrize(
    "how",
    [
        {"small": False, "large": False},
        {"large": False, "reason": "Message too long (errno 90)"},
        {"large": False, "by": "p0"},
    ],
)
def test_what_was_not_sent_or_came_in_elsewhere_is_no_black_hole(how: dict[str, object]) -> None:
    fabric = pinged(crossed_pair(), asks(A0, B1, **how))  # type: ignore[arg-type]
    assert "mtu-black-hole" not in [one.id for one in fabric.findings]


@pytest.mark.parametrize("kind", ["one-way", "loop"])
def test_a_link_that_is_none_for_traffic_has_no_black_hole(kind: str) -> None:
    broken = crossed_pair().model_copy(
        update={"links": (link(("alpha", "p0", None), ("beta", "p1", None), kind=kind),)}
    )
    assert ids(pinged(broken, asks(A0, B1, large=False))) == []


def test_small_mtus_ask_one_size_and_have_no_hole() -> None:
    assert ids(pinged(crossed_pair(), [Asked(A0, B1, 56, True, "p1"), Asked(B1, A0, 56, True, "p0")])) == []


def test_ports_that_only_ping_are_said_to_and_get_no_link() -> None:
    """Swapped addresses on straight cables: each datagram comes in by the port the cable is in."""
    straight = tuple(link(("alpha", p, None), ("beta", p, None)) for p in ("p0", "p1"))
    fabric = crossed_pair().model_copy(update={"links": straight})
    found = pinged(fabric, [*asks(A0, B1, by="p0"), *asks(B1, A0, small=False, large=False)])
    assert links(found) == straight
    assert ids(found) == [("reached-by-ping-only", "info", "alpha/p0 - beta/p1")]
    (weak,) = found.findings
    assert [one.text for one in weak.evidence] == ["p0 10.77.0.1 reaches 10.77.0.2 of beta/p1, where it came in by p0"]
    assert weak.confidence == "possible"
    assert weak in judged(found).findings


def test_ports_of_one_crowded_switch_are_joined_through_others() -> None:
    star = (
        link(("alpha", "p0", None), ("beta", "p1", None), kind="segment"),
        link(("beta", "p1", None), ("gamma", "p0", None), kind="segment"),
    )
    fabric = crossed_pair().model_copy(update={"links": star})
    assert ids(pinged(fabric, [*asks(A0, G0), *asks(G0, A0)])) == []


def test_pings_that_nobody_answers_are_no_finding() -> None:
    fabric = crossed_pair().model_copy(update={"links": ()})
    assert ids(pinged(fabric, asks(A0, B1, small=False, large=False))) == []


def test_without_a_map_only_lost_frames_are_told_and_no_link_is_made() -> None:
    fabric = crossed_pair().model_copy(update={"links": Unknown(unknown="no right")})
    found = pinged(fabric, [*asks(A0, B1, large=False), *asks(B1, A0)])
    assert found.links == Unknown(unknown="no right")
    assert ids(found) == [("mtu-black-hole", "warning", "alpha/p0 - beta/p1")]
    assert found.findings[0].confidence == "likely"
    assert ids(pinged(fabric, BOTH)) == []


def test_an_interface_that_was_not_told_is_said_so() -> None:
    fabric = crossed_pair().model_copy(update={"links": ()})
    (weak,) = pinged(fabric, [Asked(A1, B1, 56, True, "")]).findings
    assert weak.evidence[0].text.endswith("an interface that was not told")
