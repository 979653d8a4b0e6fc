"""Bytes of files: bounded, whole, never waiting, and nothing outside the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import raw

pytestmark = pytest.mark.unit


def test_the_head_of_a_file_is_kept_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"  a\0\xff \n")
    assert raw.head(f"{tmp_path}/x", 100) == b"  a\0\xff \n"
    assert raw.head(f"{tmp_path}/x", 3) == b"  a"
    assert raw.head(f"{tmp_path}/x", 0) == b""


def test_a_head_larger_than_one_read_is_whole(tmp_path: Path) -> None:
    data = os.urandom(3 * raw.CHUNK + 5)
    (tmp_path / "x").write_bytes(data)
    assert raw.head(f"{tmp_path}/x", len(data)) == data


def test_a_pipe_without_a_writer_does_not_hold_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert raw.head(f"{tmp_path}/pipe", 100) == b""


def test_an_endless_device_is_cut() -> None:
    assert raw.head("/dev/zero", 4096) == bytes(4096)


def test_errors_name_the_path(tmp_path: Path) -> None:
    for path in (f"{tmp_path}/gone", str(tmp_path)):
        with pytest.raises(OSError, match=r"directory") as caught:
            raw.head(path, 1)
        assert caught.value.filename == path


@given(st.binary(max_size=200), st.integers(0, 300), st.integers(0, 300))
def test_a_part_is_a_slice(data: bytes, offset: int, size: int) -> None:
    descriptor = os.memfd_create("x")
    try:
        os.write(descriptor, data)
        assert raw.part(descriptor, offset, size) == data[offset : offset + size]
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(("offset", "size"), [(-1, 1), (0, -1), (1 << 63, 1), (1 << 64, 1), (1 << 51, 8)])
def test_a_place_no_file_has_is_refused(offset: int, size: int) -> None:
    descriptor = os.memfd_create("x")
    try:
        with pytest.raises(ValueError, match="no file has"):
            raw.part(descriptor, offset, size)
    finally:
        os.close(descriptor)
