"""The loader's cache: entries of this machine's kind, the first of a name, and broken files that cost nothing."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import loader_cache

pytestmark = pytest.mark.unit

X86, ARM, X32 = 0x0303, 0x0A03, 0x0803
OLD = b"ld.so-1.7.0\0" + struct.pack("=I", 0)


def cache(*entries: tuple[int, str, str], before: bytes = b"") -> bytes:
    """A cache as ldconfig writes it: entries as (flags, name, path)."""
    texts, places = b"", []
    start = loader_cache.HEADER_SIZE + loader_cache.ENTRY.size * len(entries)
    for _flags, name, path in entries:
        places.append((start + len(texts), start + len(texts) + len(name) + 1))
        texts += name.encode() + b"\0" + path.encode() + b"\0"
    header = loader_cache.MAGIC + struct.pack("=II", len(entries), len(texts)) + bytes(20)
    table = b"".join(
        loader_cache.ENTRY.pack(flags, key, value, 0, 0)
        for (flags, _name, _path), (key, value) in zip(entries, places, strict=True)
    )
    return before + header + table + texts


def test_names_lead_to_paths_of_this_machine() -> None:
    data = cache(
        (X86, "libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"),
        (ARM, "libnccl.so.2", "/usr/lib/aarch64-linux-gnu/libnccl.so.2"),
        (X32, "libc.so.6", "/lib32/libc.so.6"),
    )
    assert loader_cache.entries(data, "x86_64") == {"libnccl.so.2": "/usr/lib/x86_64-linux-gnu/libnccl.so.2"}
    assert loader_cache.entries(data, "aarch64") == {"libnccl.so.2": "/usr/lib/aarch64-linux-gnu/libnccl.so.2"}
    assert set(loader_cache.entries(data, "riscv64")) == {"libnccl.so.2", "libc.so.6"}


def test_the_first_entry_of_a_name_wins() -> None:
    data = cache((X86, "libx.so", "/a/libx.so"), (X86, "libx.so", "/b/libx.so"))
    assert loader_cache.entries(data, "x86_64") == {"libx.so": "/a/libx.so"}


def test_a_table_for_old_programs_may_stand_before() -> None:
    data = cache((X86, "libx.so", "/a/libx.so"), before=OLD)
    assert loader_cache.entries(data, "x86_64") == {"libx.so": "/a/libx.so"}


def test_a_path_that_is_not_absolute_is_left_out() -> None:
    assert loader_cache.entries(cache((X86, "libx.so", "libx.so")), "x86_64") == {}


@pytest.mark.parametrize("data", [b"", OLD, loader_cache.MAGIC, cache((X86, "a", "/a"))[:-1]])
def test_a_broken_cache_is_empty(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "cache").write_bytes(data)
    assert loader_cache.cached(f"{tmp_path}/cache", "x86_64") == {}


def test_an_absurd_count_is_refused() -> None:
    data = loader_cache.MAGIC + struct.pack("=I", 0xFFFFFFFF) + bytes(24)
    with pytest.raises(ValueError, match="more than"):
        loader_cache.entries(data, "x86_64")


def test_no_cache_is_empty(tmp_path: Path) -> None:
    assert loader_cache.cached(f"{tmp_path}/gone") == {}


@given(st.binary(max_size=300))
def test_any_bytes_after_the_magic_are_entries_or_an_error(rest: bytes) -> None:
    try:
        found = loader_cache.entries(loader_cache.MAGIC + rest, "x86_64")
    except (ValueError, struct.error):
        return
    assert all(path.startswith("/") for path in found.values())


def test_this_machines_own_cache_knows_its_c_library() -> None:
    found = loader_cache.cached("/etc/ld.so.cache")
    if not found:
        pytest.skip("this machine has no cache of glibc's present layout")
    assert os.access(found["libc.so.6"], os.R_OK)
