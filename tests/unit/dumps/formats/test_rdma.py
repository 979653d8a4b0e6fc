"""rdma link, dev and statistic, as text and as JSON, tell the same."""

from __future__ import annotations

import json

import pytest

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
