"""What a library's file says: NCCL's version out of its read-only data, and the hash of the whole."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import library_file
from fabricdoc.probes.facts import attempt, is_unknown

pytestmark = pytest.mark.unit

TEXT = b"\0NCCL version mismatch with %s\0NCCL version 2.30.7+cuda13.3\0NCCL version 2.9.9\0"
NAMES = b"\0.text\0.rodata\0.shstrtab\0"


def elf(text: bytes, before: int = 0, decoy: bytes = b"") -> bytes:
    """A 64-bit ELF file: .text (with `decoy`), then .rodata with `text`, then the table of sections."""
    body = bytes(64) + decoy + bytes(before)
    rodata, names = len(body), len(body) + len(text)
    table = names + len(NAMES)
    sections = [
        (0, 0, 0, 0),
        (NAMES.index(b".text"), 1, 64, len(decoy)),
        (NAMES.index(b".rodata"), 1, rodata, len(text)),
        (NAMES.index(b".shstrtab"), 3, names, len(NAMES)),
    ]
    rows = b"".join(
        library_file.SECTION_HEADER.pack(name, kind, 0, 0, offset, size, 0, 0, 1, 0)
        for name, kind, offset, size in sections
    )
    header = library_file.ELF_HEADER.pack(b"\x7fELF", 2, 1, 3, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, len(sections), 3)
    return header + body[64:] + text + NAMES + rows


def version(folder: Path, data: bytes) -> object:
    (folder / "libnccl.so.2").write_bytes(data)
    return library_file.nccl_version(f"{folder}/libnccl.so.2")


def test_the_version_out_of_the_read_only_data(tmp_path: Path) -> None:
    assert version(tmp_path, elf(TEXT)) == "2.30.7+cuda13.3"


def test_only_that_section_is_searched(tmp_path: Path) -> None:
    assert version(tmp_path, elf(TEXT, decoy=b"NCCL version 2.1.1\0")) == "2.30.7+cuda13.3"
    assert is_unknown(version(tmp_path, elf(b"nothing", decoy=TEXT)))


def test_a_section_far_behind_is_found(tmp_path: Path) -> None:
    assert version(tmp_path, elf(TEXT, before=library_file.MAX_SEARCHED + 5)) == "2.30.7+cuda13.3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"NCCL version 2.18.5+cuda12.2\0", "2.18.5+cuda12.2"),
        (b"NCCL version 2.28.9+cuda13.0-dev\0", "2.28.9+cuda13.0-dev"),
        (b"NCCL version 2.30.7 compiled with CUDA 13.3\n\0", None),
        (b"NCCL version %d.%d\0", None),
        (b"NCCL version 2.30.7+" + b"x" * 60 + b"\0", None),
    ],
)
def test_what_counts_as_the_version(tmp_path: Path, text: bytes, said: str | None) -> None:
    found = version(tmp_path, elf(text))
    assert found == said or (said is None and is_unknown(found))


def test_a_file_without_sections_is_searched_from_its_beginning(tmp_path: Path) -> None:
    assert version(tmp_path, b"\x7fELF" + bytes(200) + TEXT) == "2.30.7+cuda13.3"
    assert is_unknown(version(tmp_path, bytes(library_file.MAX_SEARCHED) + TEXT))


def test_an_empty_file_a_folder_and_none(tmp_path: Path) -> None:
    assert is_unknown(version(tmp_path, b""))
    assert is_unknown(attempt(lambda: library_file.nccl_version(f"{tmp_path}/gone")))
    assert "is no file" in attempt(lambda: library_file.nccl_version(str(tmp_path)))["unknown"]


def test_a_pipe_does_not_hold_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (library_file.nccl_version, library_file.sha256):
        assert "is no file" in attempt(lambda read=read: read(f"{tmp_path}/pipe"))["unknown"]


@given(st.integers(0, 127), st.integers(0, 255))
def test_any_broken_byte_gives_a_version_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    data = bytearray(elf(TEXT))
    data[place % 64] = byte
    data[-1 - place] = byte
    found = attempt(lambda: version(tmp_path_factory.mktemp("elf"), bytes(data)))
    assert is_unknown(found) or isinstance(found, str)


@given(st.binary(max_size=200))
def test_any_file_gives_a_version_or_a_reason(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    header = library_file.ELF_HEADER.pack(b"\x7fELF", 2, 1, 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 3, 1)
    found = attempt(lambda: version(tmp_path_factory.mktemp("elf"), header + data))
    assert is_unknown(found) or isinstance(found, str)


@pytest.mark.parametrize(("count", "names_at"), [(0, 0), (4, 4), (513, 3), (0xFFFF, 0xFFFE)])
def test_a_table_that_can_not_be_is_not_followed(tmp_path: Path, count: int, names_at: int) -> None:
    header = library_file.ELF_HEADER.pack(b"\x7fELF", 2, 1, 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, count, names_at)
    assert version(tmp_path, header + bytes(64 * min(count, 600)) + TEXT) == "2.30.7+cuda13.3"


def test_an_offset_beyond_all_files_is_no_section(tmp_path: Path) -> None:
    huge = library_file.ELF_HEADER.pack(b"\x7fELF", 2, 1, 3, 62, 1, 0, 0, (1 << 64) - 1, 0, 64, 0, 0, 64, 3, 1)
    assert version(tmp_path, huge + TEXT) == "2.30.7+cuda13.3"
    entry = struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, (1 << 64) - 1, 1 << 62, 0, 0, 1, 0)
    small = library_file.ELF_HEADER.pack(b"\x7fELF", 2, 1, 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 2, 1)
    assert version(tmp_path, small + entry + entry + TEXT) == "2.30.7+cuda13.3"


def test_the_hash_is_the_files(tmp_path: Path) -> None:
    data = os.urandom(3 * library_file.HASH_CHUNK + 7)
    (tmp_path / "x").write_bytes(data)
    assert library_file.sha256(f"{tmp_path}/x") == hashlib.sha256(data).hexdigest()


def test_too_large_or_too_slow_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"x" * 100)
    assert "not hashed within 0 s" in library_file.sha256(f"{tmp_path}/x", 0.0)["unknown"]
    monkeypatch.setattr(library_file, "MAX_HASHED", 99)
    assert "100 bytes, above the 99" in library_file.sha256(f"{tmp_path}/x")["unknown"]


def test_the_variables_in_the_read_only_data(tmp_path: Path) -> None:
    text = b"\0NCCL_IB_HCA\0NCCL_IB_HCA set to %s\0NCCL_X\0NCCL_lower\0NCCL_P2P_LEVEL\0" + TEXT
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(elf(text, decoy=b"\0NCCL_ELSEWHERE\0"))
    assert library_file.nccl_variables(str(path)) == ["NCCL_IB_HCA", "NCCL_P2P_LEVEL"]
    with pytest.raises(OSError):
        library_file.nccl_variables(str(tmp_path / "absent"))


def test_the_variables_of_a_hostile_file_are_few(tmp_path: Path) -> None:
    path = tmp_path / "libnccl.so.2"
    path.write_bytes(b"".join(b"NCCL_%d\0" % number for number in range(100, 20_000)))
    assert len(library_file.nccl_variables(str(path))) == library_file.MAX_VARIABLES
