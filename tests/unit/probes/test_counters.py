"""Counters: sysfs folders, ethtool's statistics through a stand-in for the kernel, watching, wraps, hostile names."""

from __future__ import annotations

import ctypes
import fcntl
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.counters import rules
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters
from fabricdoc.probes import counters
from tests.sysfs import SPARK, bond, rxe, server, spark, write
from tests.sysfs import counters as write_counters

pytestmark = pytest.mark.unit

PORT = "sys/class/infiniband/rocep1s0f0/ports/1"


def asked(root: Path | str, watch_s: float = 0.0) -> tuple[dict[tuple[str, str], Counters], dict[str, Any]]:
    said: dict[str, Any] = {}
    counters.ask(said.update, str(root), watch_s)
    found = [Counters.model_validate(one) for one in counters.from_said(said, "")]
    return {(one.subject, one.source): one for one in found}, said


@pytest.mark.long
def test_both_folders_of_every_port_with_zeros_left_out(tmp_path: Path) -> None:
    spark(tmp_path)
    write_counters(tmp_path / PORT, link_downed=3, port_xmit_data=2**40, packet_seq_err=7)
    found, said = asked(tmp_path)
    assert len(found) == 8
    assert found["rocep1s0f0/1", "port"].values == {"link_downed": 3, "port_xmit_data": 2**40}
    assert found["rocep1s0f0/1", "hw"].values == {"packet_seq_err": 7}
    assert (found["rocep1s0f0/1", "port"].names, found["rocep1s0f0/1", "hw"].names) == (21, 30)
    assert found["rocep1s0f1/1", "port"].values == {}
    assert all(one.deltas == {} for one in found.values())
    assert "watched_s" not in said


def test_how_long_the_kernel_keeps_values_is_no_counter(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    assert "lifespan" in {path.name for path in (tmp_path / PORT / "hw_counters").iterdir()}
    assert "lifespan" not in asked(tmp_path)[0]["rocep1s0f0/1", "hw"].values


def test_a_soft_device_without_port_counters_has_only_the_others(tmp_path: Path) -> None:
    rxe(tmp_path)
    write(tmp_path, {f"{PORT}/hw_counters/completer_retry_err": "5", f"{PORT}/hw_counters/sent_pkts": "0"})
    found, _said = asked(tmp_path)
    assert {key: (one.values, one.names) for key, one in found.items()} == {
        ("rocep1s0f0/1", "hw"): ({"completer_retry_err": 5}, 2)
    }


@pytest.mark.long
@pytest.mark.parametrize("text", ["", "many", "-1", str(2**63), "1" * 5000, "N/A (no PMA)", "\x00"])
def test_what_is_no_counter_of_63_bits_is_left_out(tmp_path: Path, text: str) -> None:
    spark(tmp_path, SPARK[:1])
    write(tmp_path, {f"{PORT}/counters/link_downed": text, f"{PORT}/counters/symbol_error": str(2**63 - 1)})
    assert asked(tmp_path)[0]["rocep1s0f0/1", "port"].values == {"symbol_error": 2**63 - 1}


def test_a_folder_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark(tmp_path, SPARK[:1])
    monkeypatch.setattr(counters, "MAX_NAMES", 5)
    assert asked(tmp_path)[0]["rocep1s0f0/1", "port"].names == 5


def test_no_hca_is_no_counter() -> None:
    assert counters.from_said({}, "") == []


def test_a_child_that_said_nothing_leaves_its_reason() -> None:
    assert counters.from_said({}, "no answer within 5 s") == {"unknown": "no answer within 5 s"}


@pytest.mark.long
def test_what_was_said_before_a_hang_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server(tmp_path, rails=3, slots=16)
    whole = counters.sample

    def sample(root: str, device: str) -> counters.Samples:
        if device == "mlx5_1":
            raise KeyboardInterrupt
        return whole(root, device)

    monkeypatch.setattr(counters, "sample", sample)
    said: dict[str, Any] = {}
    with pytest.raises(KeyboardInterrupt):
        counters.ask(said.update, str(tmp_path), 0.0)
    assert {one["subject"] for one in counters.from_said(said, "no answer within 5 s")} == {"mlx5_0/1"}


def test_two_hcas_of_one_interface_report_it_once() -> None:
    one = {"subject": "eth0", "source": "ethtool", "values": {}, "deltas": {}, "names": 1}
    assert counters.from_said({"of a": [one], "of b": [dict(one)], "watched_s": 1.0}, "") == [one]


def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> tuple[dict[Any, Counters], dict[str, Any]]:
    """Watch for 5 s on a clock of our own; `change` happens meanwhile."""
    clock = [100.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        change()

    monkeypatch.setattr(counters.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(counters.time, "sleep", sleep)
    return asked(tmp_path, 5.0)


def test_watched_counters_tell_what_grew_and_for_how_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark(tmp_path)
    write_counters(tmp_path / PORT, link_downed=3, packet_seq_err=7, symbol_error=1)

    def change() -> None:
        write_counters(tmp_path / PORT, link_downed=4, packet_seq_err=4837, symbol_error=1)

    found, said = watched(tmp_path, monkeypatch, change)
    assert said["watched_s"] == 5.0
    assert found["rocep1s0f0/1", "port"].deltas == {"link_downed": 1}
    assert found["rocep1s0f0/1", "port"].values == {"link_downed": 4, "symbol_error": 1}
    assert found["rocep1s0f0/1", "hw"].deltas == {"packet_seq_err": 4830}
    assert found["rocep1s0f1/1", "port"].deltas == {}


def test_a_port_that_goes_away_while_watched_keeps_its_first_values_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark(tmp_path, SPARK[:2])
    found, _said = watched(tmp_path, monkeypatch, lambda: shutil.rmtree(tmp_path / SPARK[1].place.path))
    assert {subject for subject, _source in found} == {"rocep1s0f0/1"}


def test_a_card_that_hangs_while_watched_was_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark(tmp_path)
    whole, seen = counters.sample, list[str]()

    def sample(root: str, device: str) -> counters.Samples:
        seen.append(device)
        if seen.count("rocep1s0f0") == 2:
            raise KeyboardInterrupt
        return whole(root, device)

    monkeypatch.setattr(counters, "sample", sample)
    said: dict[str, Any] = {}
    with pytest.raises(KeyboardInterrupt):
        counters.ask(said.update, str(tmp_path), 0.01)
    assert "watched_s" not in said
    assert len(counters.from_said(said, "no answer within 5 s")) == 8


def test_a_counter_that_appears_while_watched_has_no_growth() -> None:
    assert counters.grown({"a": 1}, {"a": 1, "b": 9}) == {}


@pytest.mark.parametrize(
    ("before", "now", "growth"),
    [
        (5, 5, 0),
        (5, 9, 4),
        (2**32 - 10, 5, 15),
        (2**31, 0, 2**31),
        (2**31 - 1, 5, 5),
        (2**32, 5, 5),
        (2**40, 3, 3),
        (2**32 - 1, 2**31, 2**31),
        (255, 0, 0),
    ],
)
def test_growth_over_wraps_and_new_beginnings(before: int, now: int, growth: int) -> None:
    assert counters.growth(before, now) == growth


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_growth_is_never_negative_and_fits(before: int, now: int) -> None:
    assert 0 <= counters.growth(before, now) <= 2**63 - 1


@given(st.integers(2**31, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_a_32_bit_counter_that_wrapped_grew_by_what_was_added(before: int, added: int) -> None:
    assert counters.growth(before, (before + added) % 2**32) == added


KEPT = (
    "rx_prio3_pause", "tx_prio0_bytes", "rx_prio3_pause_duration", "tx_pause_storm_error_events", "rx_discards_phy",
    "link_down_events_phy", "rx_pcs_symbol_err_phy", "rx_corrected_bits_phy", "outbound_pci_stalled_wr",
    "rx_out_of_buffer", "rx_err_lane_0_phy", "rx_crc_errors_phy", "rx_fcs_errors", "port.rx_dropped",
    "rx_ecn_mark", "rx_prio3_buf_discard", "np_cnp_sent", "rx_packets_phy", "module_bad_shorted_drop",
)  # fmt: skip
LEFT_OUT = (
    "rx_packets", "tx_bytes", "rx0_packets", "rx3_xdp_drop", "tx15_dropped", "ch0_events", "tx3_0_dropped",
    "rx_queue_0_drops", "tx_queue_11_xdp_tx_drops", "[0]: rx_discards", "rx-0.rx_dropped", "queue_4_rx_drops",
    "txq3_errors", "rx_q0_drop", "tx_xsk7_err", "lro_packets", "rx_csum_none",
)  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_names_that_matter(name: str) -> None:
    assert counters.chosen(name.encode().ljust(32, b"\0"), struct.pack("=Q", 5), 1).values == {name: 5}


@pytest.mark.parametrize("name", sorted(name for source, name in rules() if source == "ethtool"))
def test_every_name_that_is_judged_is_kept(name: str) -> None:
    test_names_that_matter(name)


@pytest.mark.parametrize("name", LEFT_OUT)
def test_names_that_do_not(name: str) -> None:
    assert counters.chosen(name.encode().ljust(32, b"\0"), struct.pack("=Q", 5), 1) == counters.Sample({}, 1)


@given(st.binary(max_size=200), st.binary(max_size=64).map(lambda data: data[: len(data) // 8 * 8]), st.integers(0, 9))
def test_any_statistics_are_text_and_numbers_that_fit(names: bytes, numbers: bytes, count: int) -> None:
    found = counters.chosen(names, numbers, count)
    for name, value in found.values.items():
        name.encode()
        assert 0 <= value < 2**63
        assert len(name) <= 32
    assert found.names == count


class Kernel:
    """A stand-in for SIOCETHTOOL: one driver's statistics, written where the request points to."""

    def __init__(self, statistics: dict[str, int], later: dict[str, int] | None = None) -> None:
        self.statistics = statistics
        self.later = later
        self.interfaces: list[bytes] = []

    def __call__(self, _wire: Any, request: int, ifreq: bytes) -> int:
        assert request == 0x8946
        assert len(ifreq) == 40
        name, address = struct.unpack("16sP16x", ifreq)
        self.interfaces.append(name.rstrip(b"\0"))
        (command,) = struct.unpack("=I", ctypes.string_at(address, 4))
        now = self.later if command == 0x1D and self.later is not None else self.statistics
        if command == 0x37:
            answer = struct.pack("=IIQI", command, 0, 2, len(now))
        elif command == 0x1B:
            answer = struct.pack("=III", command, 1, len(now)) + b"".join(one.encode().ljust(32, b"\0") for one in now)
        else:
            answer = struct.pack("=II", command, len(now)) + struct.pack(f"={len(now)}Q", *now.values())
        ctypes.memmove(address, answer, len(answer))
        return 0


def test_the_statistics_of_an_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel({"rx_packets": 9, "rx_prio3_pause": 4, "link_down_events_phy": 0, "rx0_dropped": 3})
    monkeypatch.setattr(fcntl, "ioctl", kernel)
    found = counters.ethtool("enp1s0f0np0")
    assert found == counters.Sample({"rx_prio3_pause": 4, "link_down_events_phy": 0}, 4)
    assert kernel.interfaces == [b"enp1s0f0np0"] * 3


def test_a_driver_that_has_more_statistics_by_then_overruns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {f"rx_prio{n}_pause": n for n in range(8)}
    many = {f"rx_prio{n}_pause": n for n in range(900)}
    monkeypatch.setattr(fcntl, "ioctl", Kernel(few, later=many))
    with pytest.raises(OSError, match="changed while"):
        counters.ethtool("eth0")


def test_a_driver_without_statistics_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "ioctl", lambda *_request: 0)
    with pytest.raises(OSError, match="0 statistics"):
        counters.ethtool("eth0")


def test_this_kernels_own_answers() -> None:
    with pytest.raises(OSError, match="No such device"):
        counters.ethtool("no-such-if")
    with pytest.raises(OSError, match=r"statistics|not supported"):
        counters.ethtool("lo")
    for path in Path("/sys/class/net").iterdir():
        found = counters.attempt(lambda name=path.name: counters.ethtool(name))
        if isinstance(found, counters.Sample):
            assert found.names >= len(found.values)


def test_a_recorded_tree_never_asks_this_machines_interfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "ethtool", lambda _netdev: pytest.fail("asked"))
    assert len(asked(spark(tmp_path))[0]) == 8


def test_interfaces_of_a_function_a_soft_device_and_a_bond(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:2])
    rxe(tmp_path, name="rxe0", netdev="bond0")
    base = f"{tmp_path}/sys/class/infiniband"
    assert counters.netdevs_of(str(tmp_path), f"{base}/rocep1s0f0") == ["enp1s0f0np0"]
    assert counters.netdevs_of(str(tmp_path), f"{base}/rxe0") == ["bond0"]
    bond(tmp_path, "bond0", ["enp1s0f0np0", "enp1s0f1np1"])
    both = ["enp1s0f0np0", "enp1s0f1np1"]
    assert counters.netdevs_of(str(tmp_path), f"{base}/rocep1s0f0") == both
    assert counters.netdevs_of(str(tmp_path), f"{base}/rxe0") == ["bond0", *both]
    assert counters.netdevs_of(str(tmp_path), f"{base}/gone") == []


def test_ethtool_of_a_live_node_is_asked_for_every_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "listed", lambda folder: ["1"] if folder.endswith("ports") else [])
    monkeypatch.setattr(counters, "netdevs_of", lambda _root, _device: ["eth0", "eth1"])

    def ethtool(netdev: str) -> counters.Sample:
        if netdev == "eth1":
            raise OSError(95, "Operation not supported")
        return counters.Sample({"rx_discards_phy": 2}, 500)

    monkeypatch.setattr(counters, "ethtool", ethtool)
    assert counters.sample("", "mlx5_0") == {("eth0", "ethtool"): counters.Sample({"rx_discards_phy": 2}, 500)}


def test_a_reason_is_a_fact_the_model_takes() -> None:
    assert Unknown.model_validate(counters.from_said({}, "late")).unknown == "late"


def test_a_statistic_that_64_bits_can_not_hold_with_a_sign_is_left_out() -> None:
    names = b"rx_discards_phy".ljust(32, b"\0") + b"tx_discards_phy".ljust(32, b"\0")
    assert counters.chosen(names, struct.pack("=QQ", 2**63 - 1, 2**63), 2).values == {"rx_discards_phy": 2**63 - 1}
