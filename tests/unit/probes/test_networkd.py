"""systemd-networkd's LLDP files: whole frames by interface index; cut, long and foreign ones end or are passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.fabric import LldpNeighbour
from fabricdoc.probes import networkd, scan
from fabricdoc.probes.lldp_frames import neighbour
from tests.lldp import frame, lldpdu

pytestmark = pytest.mark.unit

MAC = bytes.fromhex("0a0b0c032210")
LEAF = frame(MAC, lldpdu(chassis=b"\x04" + MAC, port=b"\x05swp7", system=b"leaf1", enabled=0x0014))
HOST = frame(MAC, lldpdu(chassis=b"\x07" + b"b2" * 16, port=b"\x05p1", system=b"beta"))
INTERFACES = [{"ifindex": 2, "name": "p0"}, {"ifindex": 3, "name": "p1"}]


def kept(*some: bytes) -> bytes:
    return b"".join(len(one).to_bytes(8, "little") + one for one in some)


def machine(folder: Path, monkeypatch: pytest.MonkeyPatch, *, own_network: bool = True, **files: bytes) -> str:
    place = folder / networkd.FOLDER[1:]
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name.removeprefix("of_")).write_bytes(data)
    monkeypatch.setattr(networkd, "host_network", lambda _root: own_network)
    return str(folder)


def test_neighbours_by_the_index_of_their_interface(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch, of_2=kept(LEAF, HOST), of_9=kept(HOST))
    assert networkd.is_there(root)
    found = [LldpNeighbour.model_validate(one, strict=True) for one in networkd.neighbours(INTERFACES, root)]
    assert [(one.netdev, one.system, one.port, one.bridge) for one in found] == [
        ("p0", "leaf1", "swp7", True),
        ("p0", "beta", "p1", False),
    ]
    assert found[1].chassis == "b2" * 16


def test_in_another_network_namespace_the_indexes_mean_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not networkd.is_there(machine(tmp_path, monkeypatch, own_network=False, of_2=kept(LEAF)))
    assert not networkd.is_there(str(tmp_path / "elsewhere"))


@pytest.mark.long
def test_the_scan_reads_it_where_no_lldpd_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch, of_1=kept(LEAF))
    told = scan.scan(5.0, root)["lldp"]
    assert [(one["netdev"], one["system"]) for one in told] == [("lo", "leaf1")]
    (tmp_path / networkd.FOLDER[1:] / "1").write_bytes(b"")
    assert "no lldpd runs here" in scan.scan(5.0, root)["lldp"]["unknown"]  # it may just not have listened
    (tmp_path / "run" / "lldpd.socket").touch()
    assert "no lldpcli" in scan.scan(5.0, root)["lldp"]["unknown"]


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (kept(LEAF)[:-1], 0),
        (kept(LEAF) + b"\x01", 1),
        (kept(LEAF) + (1 << 40).to_bytes(8, "little") + LEAF, 1),
        (kept(b"short", LEAF), 0),
        (kept(LEAF[:12] + b"\x08\x00" + LEAF[14:], LEAF), 1),
        (bytes(4096), 0),
    ],
)
def test_what_is_cut_ends_and_what_is_no_lldp_is_passed_over(data: bytes, count: int) -> None:
    assert len(list(networkd.frames(data))) == count


def test_a_crowd_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine(tmp_path, monkeypatch, of_2=kept(*[LEAF] * 500))
    assert len(networkd.neighbours(INTERFACES, root)) == networkd.MAX_NEIGHBOURS


@given(st.binary(max_size=400))
def test_any_bytes_end(data: bytes) -> None:
    for whole in (data, kept(LEAF) + data):
        for one in networkd.frames(whole):
            neighbour(one[networkd.HEADER :])
