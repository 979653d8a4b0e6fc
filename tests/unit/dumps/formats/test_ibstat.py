"""ibstat: CAs and ports in the words of sysfs."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TEXT = fixture("ibstat.txt")


def test_a_ca() -> None:
    found = facts(TEXT)
    assert {path[2]: value for path, value in found.items() if path[0] == "hca"} == {
        "name": "rocep1s0f0",
        "hca_type": "MT4129",
        "firmware": "28.45.4028",
        "node_guid": "0a0b:0c03:00d0:1110",
        "sys_image_guid": "0a0b:0c03:00d0:1110",
    }
    assert {path[3]: value for path, value in found.items() if path[0] == "port"} == {
        "number": 1,
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "rate_gbps": 200.0,
        "link_layer": "Ethernet",
    }


def test_a_dead_port() -> None:
    found = facts(TEXT.replace("State: Active", "State: Down").replace("LinkUp", "Disabled").replace("200", "40"))
    assert found[("port", "rocep1s0f0", 1, "state")] == "DOWN"
    assert found[("port", "rocep1s0f0", 1, "rate_gbps")] == 40.0


def test_lines_above_the_first_ca_are_of_none() -> None:
    assert facts(TEXT[TEXT.index("Firmware") :], "ibstat.txt") == {}


def test_one_part() -> None:
    assert tools(TEXT) == [("ibstat", 1, 15)]
