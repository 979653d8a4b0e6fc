"""ibv_devinfo: HCAs, ports and GIDs, with or without -v, with or without its indentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks import check_fabric
from fabricdoc.dumps import read_dumps
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


HEAD = "hca_id:\t{}\n\tvendor_id:\t\t\t{}\n\tvendor_part_id:\t\t\t{}\n\tphys_port_cnt:\t\t\t1\n"


def test_a_mellanox_part_is_called_as_its_driver_calls_it() -> None:
    assert facts(TEXT)[("hca", "rocep1s0f0", "hca_type")] == "MT4129"
    assert facts(HEAD.format("mlx5_0", "0x02c9", "4131"))[("hca", "mlx5_0", "hca_type")] == "MT4131"


@pytest.mark.parametrize(
    ("vendor", "part"), [("0x1877", "4129"), ("0x02c9", "0x1021"), ("0x02c9", "1234567"), ("", "")]
)
def test_the_part_of_another_vendor_or_no_number_is_left_unknown(vendor: str, part: str) -> None:
    assert ("hca", "mlx5_0", "hca_type") not in facts(HEAD.format("mlx5_0", vendor, part))


def test_the_vendor_of_one_device_says_nothing_of_the_next() -> None:
    found = facts(HEAD.format("mlx5_0", "0x02c9", "4129") + "\nhca_id:\terdma_0\n\tvendor_part_id:\t\t\t4223\n")
    assert [path for path in found if path[2] == "hca_type"] == [("hca", "mlx5_0", "hca_type")]


def test_two_devices_with_other_firmware_are_held_against_each_other(tmp_path: Path) -> None:
    for node, firmware in (("spark-a", "28.45.4028"), ("spark-b", "28.43.1000")):
        (tmp_path / f"{node}_ibv_devinfo.txt").write_text(TEXT.replace("28.45.4028", firmware))
    found = check_fabric(read_dumps([tmp_path]).fabric())
    assert "firmware-differs-between-nodes" in {one.id for one in found}


PORT = "\t\tport:\t{}\n\t\t\tactive_speed:\t\t100.0 Gbps (128)\n"


def test_the_width_of_one_port_is_not_that_of_the_next() -> None:
    wide = "hca_id:\ta\n\t\tport:\t1\n\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t100.0 Gbps (128)\n"
    assert facts(wide)[("port", "a", 1, "rate_gbps")] == 400.0
    assert ("port", "a", 2, "rate_gbps") not in facts(wide + PORT.format(2))
    assert ("port", "b", 1, "rate_gbps") not in facts(wide + "hca_id:\tb\n" + PORT.format(1))


@pytest.mark.parametrize(
    ("words", "width"), [("1X (1)", 1), ("4X (2)", 4), ("8X (4)", 8), ("12X (8)", 12), ("2X (16)", 2)]
)
def test_lanes_are_told_by_their_code(words: str, width: int) -> None:
    text = f"hca_id: a\n port: 1\n active_width: {words}\n active_speed: 50.0 Gbps (64)\n"
    assert facts(text)[("port", "a", 1, "rate_gbps")] == 50.0 * width


@pytest.mark.parametrize("speed", ["invalid speed (0)", "1.2.3 Gbps (9)", "Gbps", "100.0"])
def test_a_speed_that_is_none_makes_no_rate(speed: str) -> None:
    text = f"hca_id: a\n port: 1\n active_width: 4X (2)\n active_speed: {speed}\n"
    assert ("port", "a", 1, "rate_gbps") not in facts(text)


def test_a_port_of_no_number_and_lines_before_a_device_tell_nothing() -> None:
    assert {path[0] for path in facts("hca_id: a\n port: none\n state: PORT_ACTIVE (4)\n")} == {"hca"}
    assert facts("\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n", "ibv_devinfo.txt") == {}


@given(st.text(alphabet="hca_id:\t porstve0129.GXD[](),\nmlx5_ACTIV", max_size=400))
def test_any_text_gives_facts_of_named_devices_or_none(text: str) -> None:
    for path, value in facts(text, "ibv_devinfo.txt").items():
        assert path[0] in ("hca", "port", "gid") and path[1] and value is not None
        assert path[0] == "hca" or int(path[2]) > 0


SOFT = """hca_id:\trocep1s0f0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t0.0.0
\tvendor_id:\t\t\t0xffffff
\tgeneral_odp_caps:
\trc_odp_caps:
\t\t\t\t\tNO SUPPORT
\tcompletion_timestamp_mask not supported
\tcore clock not supported
\traw packet caps:
\t\t\t\t\tC-VLAN stripping offload
\ttag matching not supported
\tnum_comp_vectors:\t\t1
\t\tport:\t1
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tgid_tbl_len:\t\t1024
\t\t\tGID[  1]:\t\t::ffff:192.168.11.1, RoCE v2
"""
"""As rdma-core 44 prints rdma_rxe, most attributes left out."""


@pytest.mark.parametrize("text", [SOFT, "\n".join(line.strip() for line in SOFT.splitlines() if "C-VLAN" not in line)])
def test_what_a_device_does_not_support_does_not_end_its_output(text: str) -> None:
    found = facts(text)
    assert [tool for tool, _first, _last in tools(text)] == ["ibv_devinfo"]
    assert found[("port", "rocep1s0f0", 1, "active_mtu")] == 4096
    assert found[("port", "rocep1s0f0", 1, "gid_slots")] == 1024
    assert found[("gid", "rocep1s0f0", 1, 1, "ipv4")] == "192.168.11.1"


def test_a_soft_device_has_a_driver_and_no_firmware() -> None:
    found = facts(SOFT)
    assert found[("hca", "rocep1s0f0", "driver")] == "rdma_rxe"
    assert ("hca", "rocep1s0f0", "firmware") not in found
    assert ("hca", "rocep1s0f0", "driver") not in facts(TEXT)
    assert ("hca", "a", "driver") not in facts("hca_id: a\n\tvendor_id: 0xfffffffffffffffff\n\tvendor_id: x\n")
