"""The port table: what can join nodes is shown, the rest is counted."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.report.ports import render_ports
from fabricdoc.report.reasons import Reasons

pytestmark = pytest.mark.unit


def rows(node: Any, shown: Any, linked: Any = ()) -> list[str]:
    text: str = shown(render_ports(node, linked, Reasons()))
    return text.splitlines()


def test_ports_are_shown_and_virtual_interfaces_counted(samples: Any, shown: Any) -> None:
    table = rows(samples.fabric().nodes[0], shown)
    assert [row.split()[0] for row in table] == ["port", "enp1s0f0np0", "enp1s0f1np1", "and"]
    assert table[1].split() == ["enp1s0f0np0", "up", "9000", "200", "Gb/s", "10.77.0.1/24", "mlx5_core"]
    assert table[2].split()[1:4] == ["down", "9000", "?"]
    assert table[3] == "  and 2 virtual interfaces: lo, docker0"


def test_a_linked_or_rdma_backed_interface_is_always_shown(samples: Any, shown: Any) -> None:
    bridge = samples.port("br0", "10.0.0.1", kind="bridge")
    node = samples.node("alpha", (bridge,), ())
    assert "br0" in rows(node, shown)[-1]
    assert rows(node, shown, {"br0"})[1].split()[0] == "br0"
    backed = samples.node("alpha", (bridge,), (samples.hca("rxe0", "br0", "10.0.0.1"),))
    assert rows(backed, shown)[1].split()[0] == "br0"


def test_veth_without_master_is_a_port_and_with_master_is_not(samples: Any, shown: Any) -> None:
    rail = samples.port("enp1s0f0np0", "10.77.0.1", kind="veth")
    leg = samples.port("veth12", "", kind="veth").model_copy(update={"master": "docker0"})
    table = rows(samples.node("alpha", (rail, leg), ()), shown)
    assert table[1].split()[0] == "enp1s0f0np0"
    assert "veth12" in table[-1]


def test_addresses_global_first_and_counted(samples: Any, shown: Any) -> None:
    port = samples.port("p0", "10.0.0.1")
    local = port.addresses[0].model_copy(update={"ip": "fe80::1", "prefix": 64, "scope": "link"})
    both = port.model_copy(update={"addresses": (local, *port.addresses)})
    assert "10.0.0.1/24 +1" in rows(samples.node("alpha", (both,), ()), shown)[1]
    none = port.model_copy(update={"addresses": ()})
    assert " - " in rows(samples.node("alpha", (none,), ()), shown)[1]


def test_nothing_to_show(samples: Any, shown: Any) -> None:
    assert rows(samples.node("alpha", (), ()), shown)[0] == "  no port"
    unread = samples.node("alpha", (), ()).model_copy(update={"netdevs": Unknown(unknown="netlink failed")})
    assert rows(unread, shown) == ["  port  unknown: netlink failed"]
