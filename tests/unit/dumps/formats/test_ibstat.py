"""ibstat: CAs and ports in the words of sysfs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("word", "state"),
    [("Active", "ACTIVE"), ("Down", "DOWN"), ("Initializing", "INIT"), ("Armed", "ARMED"), ("Odd", "ODD")],
)
def test_states_in_the_words_of_sysfs(word: str, state: str) -> None:
    assert facts(TEXT.replace("State: Active", f"State: {word}"))[("port", "rocep1s0f0", 1, "state")] == state


def test_a_rate_that_is_none_is_no_fact() -> None:
    assert ("port", "rocep1s0f0", 1, "rate_gbps") not in facts(TEXT.replace("Rate: 200", "Rate: Unknown"))


def test_the_next_ca_has_no_port_of_the_one_before() -> None:
    second = "CA 'mlx5_9'\n\tCA type: MT4131\n\tRate: 400\n\tState: Active\n"
    found = facts(f"{TEXT}{second}")
    assert found[("hca", "mlx5_9", "hca_type")] == "MT4131"
    assert not [path for path in found if path[:2] == ("port", "mlx5_9")]


def test_a_port_of_infiniband_says_so() -> None:
    found = facts(TEXT.replace("Link layer: Ethernet", "Link layer: InfiniBand"))
    assert found[("port", "rocep1s0f0", 1, "link_layer")] == "InfiniBand"


@given(st.text(alphabet="CA 'Port1:\t\nStaeRgt0x9LinkDow", max_size=200))
def test_any_text_is_read(text: str) -> None:
    for path, value in facts(f"$ ibstat\n{text}\n").items():
        assert path[0] in ("hca", "port") and path[1] and value not in (None, "")
