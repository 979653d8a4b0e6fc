"""Ports of one node: opened on its own address, by real sockets of this machine; who holds one is named."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from fabricdoc.fabric import own_ports, with_own_ports
from fabricdoc.fabric.own_ports import own_place
from fabricdoc.fabric.reaching import Reached
from fabricdoc.fabric.tried import Taken
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from tests import fabrics

pytestmark = pytest.mark.unit

SPEC = NodeSpec("alpha", "local")


def lonely() -> Fabric:
    return Fabric(nodes=(fabrics.node("alpha"),))


def test_a_node_without_addresses_is_asked_at_loopback() -> None:
    place = own_place(lonely().nodes[0])
    assert (place.node, place.netdev, place.ip) == ("alpha", "lo", "127.0.0.1")
    blind = lonely().nodes[0].model_copy(update={"netdevs": Unknown(unknown="no netlink")})
    assert own_place(blind).ip == "127.0.0.1"


def test_one_with_addresses_is_asked_where_others_would() -> None:
    node = fabrics.node("alpha", netdevs=[fabrics.netdev("p0", ip="10.0.0.7")])
    assert own_place(node).ip == "10.0.0.7"


def test_a_node_that_could_not_be_read_is_left_alone() -> None:
    assert with_own_ports(SPEC, Fabric()) == Fabric()


def test_what_is_taken_becomes_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def talk(specs: Any, plan: Any) -> Reached:
        asked.append((specs, list(plan.dials())))
        return Reached(taken=[Taken("alpha", "127.0.0.1", 5601, "python (pid 7)")])

    monkeypatch.setattr(own_ports, "converse", talk)
    fabric = with_own_ports(SPEC, lonely(), [5601, 5602])
    assert [port for _way, port in asked[0][1]] == [0, 5601, 5602]
    (finding,) = fabric.findings
    assert (finding.id, finding.subject) == ("rendezvous-port-taken", "alpha 127.0.0.1:5601")


@pytest.mark.long
def test_a_real_listener_of_this_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (finding,) = with_own_ports(SPEC, lonely(), [port]).findings
    assert f"(pid {os.getpid()})" in finding.evidence[0].text
    assert with_own_ports(SPEC, lonely(), [port]).findings == ()
