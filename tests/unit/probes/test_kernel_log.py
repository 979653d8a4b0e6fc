"""Signatures in the kernel's log: only the kernel's own records, counted, bounded, and never a wait."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.host import KernelEvent
from fabricdoc.probes import kernel_log

pytestmark = pytest.mark.unit

XID = {"id": "xid", "pattern": r"NVRM: Xid \(PCI:[^)]*\): (\d+)"}
DOWN = {"id": "link-down", "pattern": r"\bLink down$"}


def record(text: str, priority: int = 6, more: str = "") -> bytes:
    return f"{priority},12,34,-;{text}\n{more}".encode()


def found(*records: bytes, wanted: Any = (XID, DOWN)) -> list[KernelEvent]:
    lines = (text for one in records if (text := kernel_log.message(one)) is not None)
    return [KernelEvent.model_validate(one) for one in kernel_log.found_in(lines, kernel_log.compiled(list(wanted)))]


def test_counts_and_the_last_line() -> None:
    (down,) = found(
        record("mlx5_core 0000:01:00.0 enp1s0f0np0: Link down"),
        record("mlx5_core 0000:01:00.0 enp1s0f0np0: Link up"),
        record("mlx5_core 0002:01:00.0 enP2p1s0f0np0: Link down"),
    )
    assert (down.id, down.count) == ("link-down", 2)
    assert down.last == "mlx5_core 0002:01:00.0 enP2p1s0f0np0: Link down"


def test_a_number_in_the_pattern_becomes_part_of_the_id() -> None:
    events = found(
        record("NVRM: Xid (PCI:000f:01:00): 119, pid=1, Timeout"),
        record("NVRM: Xid (PCI:000f:01:00): 79, GPU has fallen off the bus"),
        record("x: Link down"),
        record("NVRM: Xid (PCI:000f:01:00): 119, pid=2, Timeout"),
    )
    assert [(one.id, one.count) for one in events] == [("xid-119", 2), ("xid-79", 1), ("link-down", 1)]


def test_the_order_is_the_requests() -> None:
    lines = (record("x: Link down"), record("NVRM: Xid (PCI:0): 79"))
    assert [one.id for one in found(*lines, wanted=(XID, DOWN))] == ["xid-79", "link-down"]
    assert [one.id for one in found(*lines, wanted=(DOWN, XID))] == ["link-down", "xid-79"]


def test_one_line_may_be_two_events() -> None:
    both = found(record("NVRM: Xid (PCI:0): 79, Link down"))
    assert [one.id for one in both] == ["xid-79", "link-down"]


@pytest.mark.parametrize("priority", [8, 14, 30, 134])
def test_what_a_process_wrote_there_does_not_count(priority: int) -> None:
    assert found(record("x: Link down", priority)) == []


@pytest.mark.parametrize("level", range(8))
def test_the_kernels_every_level_counts(level: int) -> None:
    assert found(record("x: Link down", level))[0].count == 1


def test_the_records_properties_are_not_its_text() -> None:
    (down,) = found(record("x: Link down", more=" SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n"))
    assert down.last == "x: Link down"


@pytest.mark.parametrize("data", [b"", b"no record", b";x: Link down", b"x,1;x: Link down", b"-1,1,1,-;x: Link down"])
def test_what_is_no_record_is_passed_over(data: bytes) -> None:
    assert kernel_log.message(data) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_a_text_or_nothing(data: bytes) -> None:
    text = kernel_log.message(data)
    assert text is None or "\n" not in text


def test_a_long_line_is_cut_and_hostile_text_is_clean() -> None:
    (event,) = found(b"6,1,1,-;\xff\x1b[31m " + b"x" * 900 + b": Link down\n")
    assert len(event.last) == kernel_log.MAX_LINE
    event.last.encode()


def test_endless_numbers_are_bounded() -> None:
    records = [record(f"NVRM: Xid (PCI:0): {'9' * 40}{number}") for number in range(5)]
    records += [record(f"NVRM: Xid (PCI:0): {number}") for number in range(500)]
    events = found(*records)
    assert len(events) == kernel_log.MAX_IDS
    assert max(len(one.id) for one in events) == len("xid-") + kernel_log.MAX_NUMBER


@pytest.mark.parametrize(
    "wanted",
    [
        [{"id": "x"}],
        [{"pattern": "x"}],
        [{"id": "", "pattern": "x"}],
        [{"id": "x" * 65, "pattern": "x"}],
        [{"id": "x", "pattern": "("}],
        [{"id": "x", "pattern": "a" * 301}],
        [{"id": "x", "pattern": 1}],
        ["x"],
        [{"id": f"x{n}", "pattern": "x"} for n in range(65)],
    ],
)
def test_signatures_that_are_none_are_refused(wanted: Any) -> None:
    with pytest.raises(ValueError, match="signature"):
        kernel_log.compiled(wanted)


@pytest.mark.parametrize("wanted", [None, [], "x", {}])
def test_nothing_asked_is_nothing_read(tmp_path: Path, wanted: Any) -> None:
    assert kernel_log.read(str(tmp_path), wanted) == {"unknown": kernel_log.NOT_ASKED}


def test_a_log_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    assert kernel_log.read(str(tmp_path), [DOWN])["unknown"].startswith(
        "/dev/kmsg: No such file or directory (it needs"
    )


def test_a_pipe_in_its_place_does_not_hold_us(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    os.mkfifo(tmp_path / "dev/kmsg")
    assert kernel_log.read(str(tmp_path), [DOWN]) == []


def reads(monkeypatch: pytest.MonkeyPatch, *answers: bytes | OSError) -> list[str]:
    """What `records` makes of a device that answers like this, one answer a read."""
    left: Iterator[bytes | OSError] = iter(answers)

    def read(_descriptor: int, _size: int) -> bytes:
        answer = next(left)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(os, "read", read)
    return list(kernel_log.records(99))


def test_reading_goes_on_where_records_were_overwritten_and_ends_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    overwritten, end = OSError(errno.EPIPE, "Broken pipe"), BlockingIOError(errno.EAGAIN, "again")
    assert reads(monkeypatch, record("a"), overwritten, record("b"), end, record("c")) == ["a", "b"]


def test_another_error_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError, match="Input/output"):
        reads(monkeypatch, record("a"), OSError(errno.EIO, "Input/output error"))


def test_an_endless_log_ends_by_size_and_by_time_and_is_not_taken_for_a_whole_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[int] = []
    monkeypatch.setattr(os, "read", lambda _descriptor, size: reads.append(size) or record("x" * 1000))
    monkeypatch.setattr(kernel_log, "MAX_BYTES", 10_000)
    with pytest.raises(TimeoutError, match="not read to its end"):
        list(kernel_log.records(99))
    assert len(reads) < 12
    monkeypatch.setattr(kernel_log, "MAX_BYTES", 1 << 60)
    with pytest.raises(TimeoutError, match=r"within 0\.1 s"):
        list(kernel_log.records(99, limit_s=0.1))


def test_this_machines_log() -> None:
    """The real device where there is one and it may be read: every event is whole."""
    events = kernel_log.read("", [{"id": "any", "pattern": "."}])
    if isinstance(events, list) and events:
        assert KernelEvent.model_validate(events[0]).count > 0
    else:
        assert events == [] or "/dev/kmsg" in events["unknown"]
