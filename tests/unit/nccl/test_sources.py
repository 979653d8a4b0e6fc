"""Log files: plain, gzip, zstd, broken, huge and hostile ones, as blocks of whole lines."""

from __future__ import annotations

import gzip
import importlib.util
import os
import shutil
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.nccl import sources, zstd
from fabricdoc.nccl.cleaning import BLOCK, MAX_LINE
from fabricdoc.nccl.reader import LogReader
from fabricdoc.nccl.sources import LogFile, whole_lines

pytestmark = pytest.mark.unit

LOG = Path(__file__).parents[2] / "fixtures" / "nccl_logs" / "ib_two.rank0.log"


def text_of(path: Path) -> str:
    return "".join(LogFile(path))


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def stored_zstd(data: bytes) -> bytes:
    """A zstd frame of raw blocks (RFC 8878): no compressor is needed to write one."""
    parts = [b"\x28\xb5\x2f\xfd", bytes([0b11100000]), struct.pack("<Q", len(data))]
    pieces = [data[start : start + 65536] for start in range(0, len(data), 65536)]
    for number, piece in enumerate(pieces):
        header = (len(piece) << 3) | (number == len(pieces) - 1)
        parts += [struct.pack("<I", header)[:3], piece]
    return b"".join(parts)


def test_plain_and_gzip_read_the_same(tmp_path: Path) -> None:
    plain = LOG.read_text()
    assert text_of(LOG) == plain
    assert text_of(written(tmp_path / "log.gz", gzip.compress(LOG.read_bytes()))) == plain
    two = gzip.compress(LOG.read_bytes()) + gzip.compress(LOG.read_bytes())
    assert text_of(written(tmp_path / "two.gz", two)) == plain * 2


def test_zstd_is_read_where_it_can_be_and_refused_clearly_elsewhere(tmp_path: Path) -> None:
    path = written(tmp_path / "log.zst", stored_zstd(LOG.read_bytes()))
    if any(present(name) for name in zstd.MODULES) or shutil.which(zstd.PROGRAM):
        assert text_of(path) == LOG.read_text()
    else:
        with pytest.raises(InputError, match="zstd can't be read by this Python"):
            text_of(path)


def present(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(
    ("start", "kind"),
    [(b"BZh9", "bzip2"), (b"\xfd7zXZ\x00", "xz"), (b"PK\x03\x04", "zip"), (b"7z\xbc\xaf\x27\x1c", "7z")],
)
def test_other_compressions_are_named(tmp_path: Path, start: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=kind):
        text_of(written(tmp_path / "log", start + b"x" * 100))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        text_of(tmp_path / "absent.log")
    with pytest.raises(InputError, match="no such file"):
        text_of(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="no such file"):
        text_of(tmp_path / "pipe")


def test_a_compressed_file_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = gzip.compress(os.urandom(2000).hex().encode() + b"\nUsing network IB\n" + LOG.read_bytes() * 200)
    log = LogFile(written(tmp_path / "cut.gz", data[: len(data) // 2]))
    assert "NCCL INFO" in "".join(log)
    assert "ends early" in log.note


def test_a_damaged_file_from_the_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        text_of(written(tmp_path / "bad.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 200))


@pytest.mark.long
def test_a_bomb_is_refused_and_says_how_much_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FREE_BYTES", 4 << 20)
    path = written(tmp_path / "bomb.gz", gzip.compress(b"\0" * (16 << 20)))
    with pytest.raises(InputError, match=r"came out of \d+ KiB: not a log"):
        text_of(path)
    real = written(tmp_path / "real.gz", gzip.compress(LOG.read_bytes() * 800))
    assert len(text_of(real)) > 4 << 20, "a real log that repeats itself is no bomb"


def test_a_huge_line_costs_no_memory_and_keeps_its_start(tmp_path: Path) -> None:
    path = written(
        tmp_path / "long.log",
        b"n1:1:1 [0] NCCL INFO " + b"x" * (24 << 20) + b"\nn1:1:1 [0] NCCL INFO Using network IB\n",
    )
    tracemalloc.start()
    try:
        events = list(LogReader(LogFile(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(event.name, event.line) for event in events] == [("net.used", 2)]
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("é Using\n".encode("utf-16"), "é Using\n"),
        (b"\xef\xbb\xbfUsing\n", "Using\n"),
        (b"a\xff\xfeb\n", "a\ufffd\ufffdb\n"),
        (b"a\x00b\n", "a\x00b\n"),
        (b"no end", "no end\n"),
        (b"", ""),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, expected: str) -> None:
    assert text_of(written(tmp_path / "log", data)) == expected


@given(st.lists(st.text(alphabet="ab\n", max_size=30), max_size=20))
def test_pieces_are_cut_anew_at_line_ends(texts: list[str]) -> None:
    whole = "".join(texts)
    expected = whole if not whole or whole.endswith("\n") else whole + "\n"
    pieces = list(whole_lines(iter(texts)))
    assert "".join(pieces) == expected
    assert all(piece.endswith("\n") for piece in pieces)


def test_of_a_line_without_end_only_the_beginning_is_kept() -> None:
    def texts() -> Iterator[str]:
        for _ in range(64):
            yield "x" * BLOCK
        yield "\nafter\n"

    first, last = "".join(whole_lines(texts())).splitlines()
    assert MAX_LINE <= len(first) <= 2 * MAX_LINE and last == "after"


@given(st.binary(max_size=2000))
def test_no_bytes_break_it(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = written(tmp_path_factory.mktemp("raw") / "log", data)
    try:
        list(LogReader(LogFile(path)))
    except InputError as error:
        assert str(path) in str(error)
