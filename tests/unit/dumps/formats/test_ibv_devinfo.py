"""ibv_devinfo: HCAs, ports and GIDs, with or without -v, with or without its indentation."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, line_of, tools

pytestmark = pytest.mark.unit

TEXT = fixture("ibv_devinfo-v.txt")


def test_a_device_and_its_port() -> None:
    found = facts(TEXT)
    assert found[("hca", "rocep1s0f0", "firmware")] == "28.45.4028"
    assert found[("hca", "rocep1s0f0", "node_guid")] == "0a0b:0c03:00d0:1110"
    assert found[("hca", "rocep1s0f1", "sys_image_guid")] == "0a0b:0c03:00d0:1110"
    assert found[("hca", "rocep1s0f0", "board_id")] == "NVD0000000001"
    port = {path[3]: value for path, value in found.items() if path[:3] == ("port", "rocep1s0f0", 1)}
    assert port == {
        "number": 1,
        "state": "ACTIVE",
        "max_mtu": 4096,
        "active_mtu": 1024,
        "link_layer": "Ethernet",
        "rate_gbps": 200.0,
        "phys_state": "LinkUp",
    }


def test_a_dead_port_is_told_in_the_words_of_sysfs() -> None:
    found = facts(TEXT)
    assert found[("port", "rocep1s0f1", 1, "state")] == "DOWN"
    assert found[("port", "rocep1s0f1", 1, "phys_state")] == "Disabled"
    assert found[("port", "rocep1s0f1", 1, "rate_gbps")] == 40.0


def test_gids_are_written_in_full_whatever_their_spelling() -> None:
    found = facts(TEXT)
    assert found[("gid", "rocep1s0f0", 1, 1, "gid")] == "fe80:0000:0000:0000:0a0b:0cff:fe03:1110"
    assert found[("gid", "rocep1s0f0", 1, 1, "link_local")] is True
    assert found[("gid", "rocep1s0f0", 1, 0, "type")] == "IB/RoCE v1"
    for index, kind in ((2, "IB/RoCE v1"), (3, "RoCE v2")):
        assert found[("gid", "rocep1s0f0", 1, index, "gid")] == "0000:0000:0000:0000:0000:ffff:0a4d:0001"
        assert found[("gid", "rocep1s0f0", 1, index, "ipv4")] == "10.77.0.1"
        assert found[("gid", "rocep1s0f0", 1, index, "type")] == kind


def test_an_old_rdma_core_tells_no_type() -> None:
    found = facts("hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:0a0b:0cff:fe03:1110\n")
    assert ("gid", "mlx5_0", 1, 0, "gid") in found
    assert ("gid", "mlx5_0", 1, 0, "type") not in found


def test_an_empty_slot_is_no_gid() -> None:
    text = "hca_id: a\n port: 1\n GID[  5]:\t\t0000:0000:0000:0000:0000:0000:0000:0000, RoCE v1\n"
    assert not [path for path in facts(text) if path[0] == "gid"]


def test_facts_have_the_line_they_stand_on() -> None:
    line = line_of(TEXT, ("port", "rocep1s0f0", 1, "active_mtu"))
    assert TEXT.splitlines()[line - 1].strip().startswith("active_mtu:")
    assert tools(TEXT) == [("ibv_devinfo", 1, len(TEXT.rstrip().splitlines()))]


def test_lost_indentation_changes_nothing() -> None:
    flat = "\n".join(line.strip() for line in TEXT.splitlines() if "UNKNOWN" not in line and "BAD_" not in line)
    assert facts(flat) == facts(TEXT)


def test_tabs_pasted_as_blanks_change_nothing() -> None:
    assert facts(TEXT.expandtabs(8)) == facts(TEXT)


@pytest.mark.parametrize("size", range(0, 2400, 97))
def test_cut_off_text_tells_less_and_nothing_else(size: int) -> None:
    whole, cut = facts(TEXT), facts(TEXT[:size].rpartition("\n")[0])
    assert cut.items() <= whole.items()


def test_a_head_that_is_cut_off_leaves_the_rest_of_no_device_alone() -> None:
    found = facts(TEXT[TEXT.index("hw_ver") :])
    assert {path[1] for path in found} == {"rocep1s0f1"}


def test_a_bonded_device_keeps_its_name() -> None:
    assert facts("hca_id:\tmlx5_bond_0\n")[("hca", "mlx5_bond_0", "name")] == "mlx5_bond_0"
