"""rdma link, dev and statistic, as text and as JSON, tell the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TEXT = fixture("rdma.txt")


def test_link() -> None:
    found = facts(TEXT)
    assert found[("port", "rocep1s0f0", 1, "state")] == "ACTIVE"
    assert found[("port", "rocep1s0f0", 1, "phys_state")] == "LinkUp"
    assert found[("port", "rocep1s0f0", 1, "netdev")] == "enp1s0f0np0"
    assert found[("port", "rocep1s0f1", 1, "phys_state")] == "Disabled"
    assert found[("netdev", "enp1s0f1np1", "name")] == "enp1s0f1np1"


def test_link_layers() -> None:
    found = facts(TEXT)
    assert found[("port", "rocep1s0f0", 1, "link_layer")] == "Ethernet"
    assert found[("port", "mlx5_4", 1, "link_layer")] == "InfiniBand"
    bare = facts("link rxe0/1 state DOWN physical_state DISABLED\n")
    assert ("port", "rxe0", 1, "link_layer") not in bare


def test_a_port_of_which_one_state_is_told() -> None:
    found = facts("$ rdma link\nlink m0/1 state ACTIVE netdev e0 \n")
    assert found[("port", "m0", 1, "state")] == "ACTIVE"
    assert not [path for path in found if path[0] == "counter"]


def test_dev() -> None:
    found = facts(TEXT)
    assert found[("hca", "rocep1s0f0", "firmware")] == "28.45.4028"
    assert found[("hca", "rocep1s0f0", "node_guid")] == "0a0b:0c03:00d0:1110"
    assert found[("hca", "rocep1s0f0", "sys_image_guid")] == "0a0b:0c03:00d0:1110"


def test_statistic() -> None:
    found = facts(TEXT)
    counters = {path[3]: value for path, value in found.items() if path[0] == "counter"}
    assert counters == {"rx_write_requests": 12, "out_of_sequence": 5, "packet_seq_err": 0}
    assert ("counter", "rocep1s0f0/1", "hw", "out_of_sequence") in found


def test_json_tells_what_the_text_tells() -> None:
    text = "\n".join(TEXT.splitlines()[:2])
    assert facts(fixture("rdma-link.json")) == facts(text)


def test_json_of_dev_and_statistic() -> None:
    dev = [{"ifindex": 0, "ifname": "mlx5_0", "node_type": "ca", "fw": "1.2.3", "node_guid": "0a0b:0c03:00d0:1110"}]
    assert facts(json.dumps(dev))[("hca", "mlx5_0", "firmware")] == "1.2.3"
    statistic = [{"ifname": "mlx5_0", "port": 1, "out_of_buffer": 3, "weird": None, "flag": True}]
    assert facts(json.dumps(statistic)) == {("counter", "mlx5_0/1", "hw", "out_of_buffer"): 3}


def test_cut_json_gives_its_whole_entries() -> None:
    text = fixture("rdma-link.json")
    cut = facts(text[: text.index("physical_state", 140)])
    assert {path[1] for path in cut if path[0] == "port"} == {"rocep1s0f0"}


@pytest.mark.parametrize("entry", [{"ifname": 3, "port": 1, "state": 4}, {"ifname": "a", "port": "x", "state": []}])
def test_wrong_types_are_passed_over(entry: dict[str, object]) -> None:
    facts(json.dumps([entry]))


def test_a_longer_word_is_not_taken_for_a_link() -> None:
    assert tools("link to the manual is here\n") == [("", 1, 1)]


@pytest.mark.parametrize(
    ("value", "told"), [("9" * 18, 10**18 - 1), ("9" * 19, None), ("-1", None), ("1.5", None), ("٣", None)]
)
def test_counters_are_numbers_of_at_most_18_digits(value: str, told: int | None) -> None:
    found = facts(f"$ rdma statistic\nlink m0/1 out_of_buffer {value} rx_x 1 \n")
    assert found.get(("counter", "m0/1", "hw", "out_of_buffer")) == told


def test_a_long_line_of_counters_is_read_to_its_end() -> None:
    text = "link m0/1 " + " ".join(f"counter_{k:04d} {k}" for k in range(500)) + "\n"
    found = facts(text)
    assert len(text) > 1000 and len(found) == 500
    assert found[("counter", "m0/1", "hw", "counter_0499")] == 499


def test_every_line_names_its_device() -> None:
    assert facts("1: mlx5_0: node_type ca fw 1.2.3\n")[("hca", "mlx5_0", "name")] == "mlx5_0"
    assert facts("link mlx5_1/1 state DOWN physical_state DISABLED\n")[("hca", "mlx5_1", "name")] == "mlx5_1"


def test_true_is_no_counter_and_no_word() -> None:
    entry = {"ifname": "m0", "port": 1, "state": True, "physical_state": None, "netdev": False}
    assert facts(json.dumps([entry])) == {("hca", "m0", "name"): "m0"}


@given(st.text(alphabet="link m0/1statedevACTIVErx_ 9:\t", max_size=80))
def test_any_line_is_read(line: str) -> None:
    for path, value in facts(f"$ rdma link\n{line}\n").items():
        assert path[0] in ("hca", "port", "netdev", "counter") and value not in (None, "")
