"""What beacons alone can tell of ports: which are down, with the command."""

from __future__ import annotations

import pytest

from fabricdoc.fabric.link_findings import down_ports
from fabricdoc.model.documents import Unknown
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit

A0 = ("alpha", "p0")


def test_a_carrier_that_is_not_told_of_a_port_set_down_is_down() -> None:
    refused = netdev("p0").model_copy(update={"carrier": Unknown(unknown="Invalid argument"), "operstate": "down"})
    assert down_ports([node("alpha", netdevs=[refused, netdev("p1")])]) == {A0}
    lying = netdev("p0").model_copy(update={"carrier": True, "operstate": "down"})
    assert down_ports([node("alpha", netdevs=[lying, netdev("p1")])]) == {A0}, "virtio says so"
