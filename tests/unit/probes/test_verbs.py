"""libibverbs asked through ctypes: active MTUs, devices that can't be opened, and a library that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.checks.access import NOT_LOADED
from fabricdoc.probes import verbs
from tests.drivers import Library, VerbsDevice
from tests.drivers import verbs as stand_in

pytestmark = pytest.mark.unit


def asked(library: Library) -> dict[str, Any]:
    said: dict[str, Any] = {}
    verbs.ask(said.update, lambda _name, use_errno: library)
    return said


def test_both_mtus_of_every_port_in_bytes() -> None:
    said = asked(stand_in([VerbsDevice(b"rocep1s0f0", (5,)), VerbsDevice(b"mlx4_0", (3, 1))]))
    assert said["mtus"] == {
        "rocep1s0f0/1": {"active": 4096, "max": 4096},
        "mlx4_0/1": {"active": 1024, "max": 4096},
        "mlx4_0/2": {"active": 256, "max": 4096},
    }
    assert said["mtu_reason"] == ""


def test_an_mtu_number_that_is_none_is_left_out() -> None:
    assert asked(stand_in([VerbsDevice(b"a", (0, 5))]))["mtus"] == {
        "a/1": {"max": 4096},
        "a/2": {"active": 4096, "max": 4096},
    }


def test_a_device_that_can_not_be_opened_costs_only_itself() -> None:
    said = asked(stand_in([VerbsDevice(b"a", opens=False), VerbsDevice(b"b")]))
    assert said["mtus"] == {"b/1": {"active": 4096, "max": 4096}}
    assert said["mtu_reason"] == "a can't be opened: Permission denied"


def test_a_kernel_without_rdma_is_told_from_a_missing_library() -> None:
    said = asked(stand_in(None))
    assert said["mtu_reason"] == "libibverbs lists no device: Function not implemented"
    assert verbs.library_fact(said, "") == "libibverbs.so.1"


def test_a_missing_library_is_said_with_the_loaders_words() -> None:
    said: dict[str, Any] = {}
    verbs.LIBRARY, before = "libno-such-verbs.so.1", verbs.LIBRARY
    try:
        verbs.ask(said.update)
    finally:
        verbs.LIBRARY = before
    fact = verbs.library_fact(said, "")
    assert fact["unknown"].startswith(NOT_LOADED)
    assert "cannot open shared object file" in fact["unknown"]


def test_a_child_that_said_nothing_leaves_its_reason() -> None:
    assert verbs.library_fact({}, "no answer within 3 s") == {"unknown": "no answer within 3 s"}


def test_a_symbol_that_is_missing_is_an_attribute_error() -> None:
    library = stand_in([])
    del library.ibv_query_port  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        asked(library)


def test_the_file_of_a_loaded_library_is_found_in_the_maps(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/libc.so.6\n"
        "7f02-7f03 r-xp 00000000 00:00 0 \n"
        "7f04-7f05 r-xp 00000000 08:01 13 /opt/with space/libibverbs.so.1.14.44.0\n"
    )
    assert verbs.mapped_path("libibverbs.so", str(maps)) == "/opt/with space/libibverbs.so.1.14.44.0"
    assert verbs.mapped_path("libnone.so", str(maps)) == ""
    assert verbs.mapped_path("libibverbs.so", f"{tmp_path}/gone") == ""
    assert "libc" in verbs.mapped_path("libc")


def test_ports_are_asked_up_to_the_first_that_is_none_and_never_more_than_eight() -> None:
    said = asked(stand_in([VerbsDevice(b"wide", (5,) * 12)]))
    assert list(said["mtus"]) == [f"wide/{number}" for number in range(1, verbs.MAX_PORTS + 1)]


def test_no_device_is_an_answer() -> None:
    assert asked(stand_in([]))["mtus"] == {}


@pytest.mark.parametrize(
    ("number", "size"), [(1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096), (6, None), (-1, None)]
)
def test_every_number_of_an_mtu(number: int, size: int | None) -> None:
    """ibv_mtu of infiniband/verbs.h, 256 to 4096; another number is told as none."""
    told = asked(stand_in([VerbsDevice(b"a", (number,))]))["mtus"]["a/1"]
    assert told.get("active") == size and told["max"] == 4096
