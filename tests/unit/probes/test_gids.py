"""GID tables: filled slots only, empty and foreign slots, and speed with 1024 of them."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.fabric import Gid
from fabricdoc.probes.gids import OTHER_NAMESPACE, read_table
from tests.sysfs import EINVAL_FILE, gid_table, mapped, usual_gids

pytestmark = pytest.mark.unit


def test_only_filled_slots_with_type_netdev_and_ipv4(tmp_path: Path) -> None:
    gid_table(tmp_path, usual_gids("192.168.100.1"), "enp1s0f0np0", 16)
    found = [Gid.model_validate(one) for one in read_table(str(tmp_path)).gids]
    assert [(gid.index, gid.type, gid.ipv4, gid.link_local) for gid in found] == [
        (0, "IB/RoCE v1", None, True),
        (1, "RoCE v2", None, True),
        (2, "IB/RoCE v1", "192.168.100.1", False),
        (3, "RoCE v2", "192.168.100.1", False),
    ]
    assert {gid.netdev for gid in found} == {"enp1s0f0np0"}
    assert found[3].gid == mapped("192.168.100.1")


def test_indices_are_numbers_not_words(tmp_path: Path) -> None:
    gid_table(tmp_path, [(mapped(f"10.0.0.{n}"), "RoCE v2") for n in range(1, 13)], "p0", 12)
    assert [one["index"] for one in read_table(str(tmp_path)).gids] == list(range(12))


def test_a_slot_of_another_namespace_keeps_its_gid_but_not_its_netdev(tmp_path: Path) -> None:
    gid_table(tmp_path, [(mapped("10.0.0.1"), "RoCE v2")], "p0", 4)
    for name in ("types", "ndevs"):
        slot = tmp_path / f"gid_attrs/{name}/0"
        slot.unlink()
        slot.symlink_to(EINVAL_FILE)
    (found,) = read_table(str(tmp_path)).gids
    assert found["type"] == found["netdev"] == {"unknown": OTHER_NAMESPACE}
    assert found["ipv4"] == "10.0.0.1"


def test_a_slot_that_can_not_be_read_counts_as_empty(tmp_path: Path) -> None:
    gid_table(tmp_path, [(mapped("10.0.0.1"), "RoCE v2")], "p0", 3)
    (tmp_path / "gids/1").unlink()
    (tmp_path / "gids/1").symlink_to(EINVAL_FILE)
    (tmp_path / "gids/2").unlink()
    assert [one["index"] for one in read_table(str(tmp_path)).gids] == [0]


def test_a_missing_attribute_is_named(tmp_path: Path) -> None:
    gid_table(tmp_path, [(mapped("10.0.0.1"), "RoCE v2")], "p0", 1)
    (tmp_path / "gid_attrs/ndevs/0").unlink()
    (found,) = read_table(str(tmp_path)).gids
    assert "ndevs/0: No such file" in found["netdev"]["unknown"]


@pytest.mark.parametrize(
    ("gid", "link_local"),
    [("fe80:0000:0000:0000:0000:0000:0000:0001", True), ("febf::1", True), ("fec0::1", False), ("fd00::1", False)],
)
def test_link_local_is_fe80_slash_10(tmp_path: Path, gid: str, link_local: bool) -> None:
    gid_table(tmp_path, [(gid, "RoCE v2")], "p0", 1)
    assert read_table(str(tmp_path)).gids[0]["link_local"] is link_local


def test_text_that_is_no_address_is_refused(tmp_path: Path) -> None:
    gid_table(tmp_path, [("not a gid", "RoCE v2")], "p0", 1)
    with pytest.raises(OSError, match="illegal IP address"):
        read_table(str(tmp_path))


def test_a_table_of_1024_slots_takes_one_read_a_slot(tmp_path: Path) -> None:
    gid_table(tmp_path, usual_gids("10.0.0.1"), "p0", 1024)
    begun = time.process_time()
    assert len(read_table(str(tmp_path)).gids) == 4
    assert time.process_time() - begun < 0.5


def test_the_number_of_slots_counts_empty_ones_and_no_other_names(tmp_path: Path) -> None:
    gid_table(tmp_path, usual_gids("10.0.0.1"), "p0", 256)
    for name in ("lost+found", "²", "123456", "-1"):
        (tmp_path / f"gids/{name}").write_text("fe80::1")
    table = read_table(str(tmp_path))
    assert (table.slots, len(table.gids)) == (256, 4)


def test_a_table_that_goes_away_is_no_empty_table(tmp_path: Path) -> None:
    gid_table(tmp_path, [(mapped("10.0.0.1"), "RoCE v2")], "p0", 3)
    (tmp_path / "gids/2").unlink()
    (tmp_path / "gids/2").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="went away while its GID table was read"):
        read_table(str(tmp_path))
    with pytest.raises(OSError, match="No such file"):
        read_table(f"{tmp_path}/gone")


def test_a_slot_of_rubbish_is_refused_with_words(tmp_path: Path) -> None:
    gid_table(tmp_path, [], "p0", 1)
    (tmp_path / "gids/0").write_bytes(b"\xff\xfe" * 40)
    with pytest.raises(OSError, match="illegal IP address"):
        read_table(str(tmp_path))


@pytest.mark.long
@given(st.binary(max_size=80))
def test_any_slot_is_a_gid_empty_or_refused(data: bytes) -> None:
    with TemporaryDirectory() as folder:
        port = Path(folder)
        gid_table(port, [], "p0", 1)
        (port / "gids/0").write_bytes(data)
        try:
            table = read_table(folder)
        except (OSError, ValueError):
            return
    for one in table.gids:
        Gid.model_validate(one)
