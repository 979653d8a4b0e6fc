"""What is said of listed ports that are not there, and where none is listed at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric.listing import no_candidates, nothing_matches, ports_option, unmatched
from fabricdoc.model.fabric import Node
from fabricdoc.transport import NodeSpec
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit


def pair() -> list[Node]:
    """Two nodes with two ports each (beta's second one is dark), a loopback and a bridge with a member."""
    bridge = netdev("docker0").model_copy(update={"kind": "bridge"})
    member = netdev("veth9").model_copy(update={"master": "docker0"})
    alpha = node("alpha", netdevs=[netdev("lo"), netdev("p0"), netdev("p1"), bridge, member])
    return [alpha, node("beta", netdevs=[netdev("p0"), netdev("q1", up=False)])]


def specs(*ports: str) -> list[NodeSpec]:
    return [NodeSpec(name, "local", ports=ports) for name in ("alpha", "beta")]


def test_a_mistyped_port_is_named_with_those_that_are_there() -> None:
    assert no_candidates(specs("enp9s9"), pair()) == "enp9s9 matches no port; alpha has p0, p1; beta has p0, q1"
    equal = [node(name, netdevs=[netdev("p0")]) for name in ("alpha", "beta")]
    assert nothing_matches(["x", "y"], equal) == "x, y match no port; alpha and beta have p0"


def test_without_a_list_the_ports_with_carrier_are_given_to_paste() -> None:
    reason = no_candidates(specs(), pair())
    assert "no node has an RDMA-backed port" in reason
    assert reason.endswith("`--ports p0,p1`")
    dark = [node("alpha", netdevs=[netdev("p0", up=False)])]
    assert no_candidates([NodeSpec("alpha", "local")], dark).endswith("no port of any node has carrier")


def test_one_mistyped_of_two_is_a_warning() -> None:
    (found,) = unmatched(specs("p0", "enp9s9"), pair())
    assert (found.severity, found.subject) == ("warning", "enp9s9")
    assert found.cause.startswith("enp9s9 matches no port")
    assert found.fix == ("name ports that are there, as in --ports p0,p1",)


def test_a_node_of_which_nothing_is_probed_is_a_warning() -> None:
    (found,) = unmatched(specs("p1"), pair())
    assert found.subject == "ports of beta"
    assert found.cause == "no port of beta was probed; it has p0, q1"


def test_a_listed_bridge_is_there() -> None:
    assert unmatched([NodeSpec("alpha", "local", ports=("docker0",))], pair()[:1]) == ()


@given(st.lists(st.sampled_from(["p0", "p1", "q1", "p*", "*", "zz", "[pq]1"]), max_size=4))
def test_only_what_matches_nowhere_is_told(patterns: list[str]) -> None:
    told = {one.subject for one in unmatched(specs(*patterns), pair())} - {"ports of alpha", "ports of beta"}
    assert told == {"zz"} & set(patterns)


def test_no_carrier_no_option() -> None:
    assert ports_option([]) == ""
