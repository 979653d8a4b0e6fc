"""The NCCL that is meant: a word, a file, or what is found here; bounded, and never loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.nccl.lint_library import FEWEST, chosen_nccl, library
from fabricdoc.nccl.values import ANY
from tests.unit.probes.test_library_file import elf

pytestmark = pytest.mark.unit

NAMES = [f"NCCL_THING_{number}" for number in range(FEWEST)]
TEXT = b"\0NCCL version 2.28.9+cuda13.0\0" + b"\0".join(name.encode() for name in [*NAMES, "NCCL_IB_HCA"]) + b"\0"


def put(folder: Path, data: bytes = elf(TEXT), name: str = "libnccl.so.2") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_words() -> None:
    assert chosen_nccl("any", {}) is ANY
    assert chosen_nccl("2.28.9", {}).release == chosen_nccl("v2.28.9-1", {}).release == (2, 28, 9)
    assert chosen_nccl("2.27", {}).told == "NCCL 2.27.0"
    assert chosen_nccl("2.28.9", {}).names is None


def test_a_file_or_its_folder(tmp_path: Path) -> None:
    path = put(tmp_path)
    for word in (path, str(tmp_path)):
        nccl = chosen_nccl(word, {})
        assert nccl.release == (2, 28, 9) and nccl.names is not None and "NCCL_IB_HCA" in nccl.names
        assert nccl.told == f"NCCL 2.28.9+cuda13.0 ({path})"


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    other = put(tmp_path, elf(b"\0nothing of nccl\0"), "other.so")
    for word in (other, str(tmp_path / "absent.so"), "newest", str(tmp_path)):
        with pytest.raises(InputError, match="no release and no file of NCCL"):
            chosen_nccl(word, {})


def test_the_one_found_here_in_the_loaders_order(tmp_path: Path) -> None:
    put(tmp_path / "first", elf(TEXT.replace(b"2.28.9", b"2.30.7")))
    put(tmp_path / "second")
    way = {"LD_LIBRARY_PATH": f"{tmp_path}/none:{tmp_path}/first:{tmp_path}/second"}
    assert chosen_nccl("", way, ["/nowhere"]).release == (2, 30, 7)


def test_the_copy_of_a_wheel(tmp_path: Path) -> None:
    put(tmp_path / "nvidia" / "nccl" / "lib")
    found = chosen_nccl("", {"LD_LIBRARY_PATH": "/nowhere"}, [str(tmp_path)])
    assert found is ANY or found.release is not None, "a system's own library comes first"
    if "nvidia/nccl" in found.told:
        assert found.release == (2, 28, 9)


def test_a_file_without_the_names_says_its_release_alone(tmp_path: Path) -> None:
    nccl = library(put(tmp_path, elf(b"\0NCCL version 2.28.9+cuda13.0\0NCCL_IB_HCA\0")))
    assert nccl is not None and nccl.release == (2, 28, 9) and nccl.names is None


@given(st.binary(max_size=300))
def test_no_file_breaks_it(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = put(tmp_path_factory.mktemp("lib"), b"\x7fELF" + data)
    nccl = library(path)
    assert nccl is None or nccl.release is not None
