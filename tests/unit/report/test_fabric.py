"""The fabric: headline, links with their proof, findings last, and its status."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.errors import ExitStatus
from fabricdoc.model.documents import Unknown
from fabricdoc.report.fabric import fabric_status, render_fabric, render_links

pytestmark = pytest.mark.unit


def test_the_whole_fabric_in_order(samples: Any, shown: Any) -> None:
    text = shown(render_fabric(samples.fabric()))
    assert text.startswith("2 nodes, 1 could not be read, 2 links proven, 1 error, 1 warning\n")
    order = ["\nalpha  ", "\nbeta  ", "\ngamma  ", "alpha/enp1s0f0np0  <->", "\nerror: ", "\nwarning"]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)


def test_links_look_like_links(samples: Any, shown: Any) -> None:
    text = shown(render_fabric(samples.fabric(), "links"))
    assert "alpha/enp1s0f0np0  <->  beta/enp1s0f1np1  cable, proven by beacons 3+3\n" in text
    assert "alpha/enp1s0f1np1  -->  beta/enp1s0f0np0  one-way, proven by beacons 3+0\n" in text
    assert "host" not in text
    assert "could not be read" in text


def test_a_one_way_link_points_where_frames_go(samples: Any, shown: Any) -> None:
    link = samples.link(("alpha", "p0"), ("beta", "q0"), "one-way")
    back = link.model_copy(update={"proof": link.proof.model_copy(update={"frames_a_to_b": 0})})
    fabric = samples.fabric().model_copy(update={"links": (back,)})
    assert "alpha/p0  <--  beta/q0  one-way, proven by beacons 0+3" in shown(render_fabric(fabric, "links"))


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("rdma-ping", "proven by RDMA ping 3+3"),
        ("beacon", "proven by beacons 3+3"),
        ("multicast", "proven by multicast 3+3"),
        ("lldp", "proven by LLDP 3+3"),
    ],
)
def test_each_kind_of_proof_has_its_own_words(samples: Any, shown: Any, method: str, words: str) -> None:
    link = samples.link(("alpha", "p0"), ("beta", "q0"), "cable")
    other = link.model_copy(update={"proof": link.proof.model_copy(update={"method": method})})
    assert words in shown(render_fabric(samples.fabric().model_copy(update={"links": (other,)}), "links"))


def test_a_link_over_which_rdma_fails_says_so_beside_what_proved_it(samples: Any, shown: Any) -> None:
    link = samples.link(("alpha", "p0"), ("beta", "q0"), "cable").model_copy(update={"rdma": False})
    text = shown(render_fabric(samples.fabric().model_copy(update={"links": (link,)}), "links"))
    assert "cable, proven by beacons 3+3, RDMA fails\n" in text


def test_no_links_and_unknown_links(samples: Any, shown: Any) -> None:
    none = samples.fabric().model_copy(update={"links": ()})
    assert "links none: no port heard a port of another node" in shown(render_fabric(none))
    bare = samples.fabric().model_copy(update={"links": Unknown(unknown="not asked")})
    assert "links unknown: nobody looked for them" in shown(render_fabric(bare))
    alone = bare.model_copy(update={"nodes": bare.nodes[:1]})
    assert "links not looked for: cables need at least two nodes" in shown(render_fabric(alone, "links"))
    assert "unknown" not in shown(render_links(alone))
    unknown = samples.fabric().model_copy(update={"links": Unknown(unknown="needs CAP_NET_RAW")})
    assert "links unknown: needs CAP_NET_RAW" in shown(render_fabric(unknown))


def test_one_healthy_node_says_so_and_nothing_of_links(samples: Any, shown: Any) -> None:
    fabric = samples.fabric()
    one = fabric.model_copy(update={"nodes": fabric.nodes[:1], "links": (), "findings": (), "failed": ()})
    text = shown(render_fabric(one))
    assert text.startswith("1 node, nothing wrong\n")
    assert "links" not in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_links_fit_with_long_names(samples: Any, shown: Any, width: int) -> None:
    text = shown(render_fabric(samples.all_long()[0], "links"), width)
    assert max(len(row) for row in text.splitlines()) <= width
    assert "<->" in text


def test_status(samples: Any) -> None:
    fabric = samples.fabric()
    assert fabric_status(fabric) is ExitStatus.FAILED
    seen = fabric.model_copy(update={"failed": ()})
    assert fabric_status(seen) is ExitStatus.NOT_FIT
    warned = seen.model_copy(update={"findings": samples.findings[:1]})
    assert fabric_status(warned) is ExitStatus.FIT
    blind = warned.model_copy(update={"links": Unknown(unknown="x")})
    assert fabric_status(blind) is ExitStatus.INCONCLUSIVE
    assert fabric_status(blind.model_copy(update={"nodes": blind.nodes[:1]})) is ExitStatus.FIT


def test_unproven_links_are_no_clean_bill(samples: Any, shown: Any) -> None:
    fabric = samples.fabric().model_copy(update={"failed": (), "findings": ()})
    assert shown(render_fabric(fabric)).startswith("2 nodes, 2 links proven, nothing wrong\n")
    blind = fabric.model_copy(update={"links": Unknown(unknown="none listed; name the ports: `--ports p0,p1`")})
    text = shown(render_fabric(blind))
    assert text.startswith("2 nodes, nothing wrong seen, links not proven\n")
    assert "links unknown: none listed; name the ports:\n  --ports p0,p1\n" in text
    warned = blind.model_copy(update={"findings": samples.findings[:1]})
    assert ", links not proven\n" in shown(render_fabric(warned))
    unasked = fabric.model_copy(update={"links": Unknown(unknown="not asked")})
    text = shown(render_fabric(unasked))
    assert text.startswith("2 nodes, nothing wrong seen, links not proven\n")
    assert "links unknown: nobody looked for them" in text and "  fabricdoc scan --nodes " in text
    assert fabric_status(unasked) == 3, "a status of 3 has its reason on the screen"
    assert "links" not in shown(render_fabric(unasked.model_copy(update={"nodes": fabric.nodes[:1]})))


def test_a_node_that_was_read_and_then_failed_is_told_apart_from_one_that_could_not_be_read(
    samples: Any, shown: Any
) -> None:
    fabric = samples.fabric()
    late = fabric.failed[0].model_copy(
        update={"name": "beta", "target": "user@beta", "message": "beta: the beacon probe died", "fix": "see why"}
    )
    text = shown(render_fabric(fabric.model_copy(update={"failed": (*fabric.failed, late)}), "links"))
    assert text.startswith("2 nodes, 1 could not be read, 1 failed while cables were proven, 2 links proven")
    assert "beta  user@beta  failed while cables were proven: the beacon probe died\n" in text
    assert "see why" in text
    alone = shown(render_fabric(fabric.model_copy(update={"failed": (late,)}), "links"))
    assert "could not be read" not in alone
