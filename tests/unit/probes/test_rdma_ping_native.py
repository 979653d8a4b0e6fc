"""libibverbs by ctypes: the structures are verbs.h's, and a verb that fails is told with its errno, nothing being left.

The library is made up: it hands out addresses and records what is destroyed. The real one runs in the RoCE lab.
"""

from __future__ import annotations

import ctypes
import errno
from typing import Any

import pytest

from fabricdoc.probes import rdma_ping_abi as abi
from fabricdoc.probes.rdma_ping_end import Place, Refused
from fabricdoc.probes.rdma_ping_native import LIBRARY, Native

pytestmark = pytest.mark.unit

PLACE = Place("hca0", 1, 3, "::ffff:10.0.0.1")
FUNCTIONS = (
    *("ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_open_device", "ibv_close_device"),
    *("ibv_query_port", "ibv_query_gid", "ibv_alloc_pd", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_dereg_mr"),
    *("ibv_create_cq", "ibv_destroy_cq", "ibv_create_qp", "ibv_modify_qp", "ibv_destroy_qp"),
)


class Call:
    """One function of the made-up library; takes restype and argtypes as a ctypes function does."""

    def __init__(self, library: Library, name: str) -> None:
        self.library, self.name = library, name
        self.restype: Any = None
        self.argtypes: Any = None

    def __call__(self, *words: Any) -> Any:
        self.library.called.append(self.name)
        if self.name == self.library.fails:
            ctypes.set_errno(self.library.errno)
            return None if self.restype is ctypes.c_void_p else self.library.errno
        return self.library.answers.get(self.name, lambda *_: 0)(*words)


class Library:
    """Gives every object an address in memory of its own; `fails` names the function that fails with `errno`."""

    def __init__(self, fails: str = "", errno_: int = 0) -> None:
        self.called: list[str] = []
        self.fails, self.errno = fails, errno_
        self.posted: list[int] = []
        self._devices = (ctypes.c_void_p * 1)(0x10)
        self._context = (ctypes.c_void_p * 64)()
        self._pair, self._region = abi.Pair(qp_num=0x123), abi.Region(lkey=5, rkey=6)
        self._post = abi.POST(lambda pair, work, bad: self.posted.append(1) or 0)
        self._poll = abi.POLL(lambda queue, room, found: 0)
        for at in (abi.POST_SEND, abi.POST_RECV):
            self._context[at] = ctypes.cast(self._post, ctypes.c_void_p).value
        self._context[abi.POLL_CQ] = ctypes.cast(self._poll, ctypes.c_void_p).value
        self.gid = bytes.fromhex("00000000000000000000ffff0a000001")
        self.answers: dict[str, Any] = {
            "ibv_get_device_list": self._list,
            "ibv_get_device_name": lambda device: b"hca0",
            "ibv_open_device": lambda device: ctypes.addressof(self._context),
            "ibv_query_port": self._port,
            "ibv_query_gid": self._gid,
            "ibv_alloc_pd": lambda context: 0x20,
            "ibv_reg_mr": lambda *words: ctypes.addressof(self._region),
            "ibv_create_cq": lambda *words: 0x30,
            "ibv_create_qp": lambda *words: ctypes.addressof(self._pair),
        }
        for name in FUNCTIONS:
            setattr(self, name, Call(self, name))

    def _list(self, count: Any) -> int:
        count._obj.value = 1
        return ctypes.addressof(self._devices)

    def _port(self, _context: Any, _port: int, attributes: Any) -> int:
        attributes._obj[0], attributes._obj[1], attributes._obj[2] = 4, 5, 3
        return 0

    def _gid(self, _context: Any, _port: int, _index: int, gid: Any) -> int:
        gid._obj[:] = self.gid
        return 0


def native(library: Library) -> Native:
    return Native(load=lambda name, use_errno: library if name == LIBRARY and use_errno else pytest.fail(name))


def test_an_end_is_made_and_destroyed_in_the_right_order() -> None:
    library = Library()
    end = native(library).open(PLACE, 9)
    about = end.about()
    assert (about["qpn"], about["psn"], about["rkey"], about["active_mtu"]) == (0x123, 9, 6, 1024)
    assert len(library.posted) == 4
    assert end.poll() == []
    end.close()
    assert library.called[-5:] == [
        *("ibv_destroy_qp", "ibv_destroy_cq", "ibv_dereg_mr", "ibv_dealloc_pd", "ibv_close_device")
    ]


@pytest.mark.parametrize(
    ("fails", "phase", "undone"),
    [
        ("ibv_open_device", "open", []),
        ("ibv_query_port", "port", ["ibv_close_device"]),
        ("ibv_query_gid", "gid", ["ibv_close_device"]),
        ("ibv_alloc_pd", "pd", ["ibv_close_device"]),
        ("ibv_reg_mr", "mr", ["ibv_dealloc_pd", "ibv_close_device"]),
        ("ibv_create_cq", "cq", ["ibv_dereg_mr", "ibv_dealloc_pd", "ibv_close_device"]),
        ("ibv_create_qp", "qp", ["ibv_destroy_cq", "ibv_dereg_mr", "ibv_dealloc_pd", "ibv_close_device"]),
    ],
)
def test_a_verb_that_fails_leaves_nothing_open(fails: str, phase: str, undone: list[str]) -> None:
    library = Library(fails, errno.ENOMEM)
    with pytest.raises(Refused) as raised:
        native(library).open(PLACE, 9)
    assert (raised.value.phase, raised.value.errno) == (phase, errno.ENOMEM)
    after = library.called[library.called.index(fails) + 1 :]
    assert [name for name in after if name != "ibv_free_device_list"] == undone


def test_another_gid_at_the_index_is_refused_with_both() -> None:
    library = Library()
    library.gid = bytes(15) + b"\1"
    with pytest.raises(Refused, match=r"GID index 3 of hca0 holds ::1, not ::ffff:10.0.0.1"):
        native(library).open(PLACE, 9)
    assert library.called[-1] == "ibv_close_device"


def test_a_device_that_is_not_listed() -> None:
    with pytest.raises(Refused, match="lists no device hca7") as raised:
        native(Library()).open(PLACE._replace(device="hca7"), 9)
    assert raised.value.errno == errno.ENODEV


def test_a_library_that_is_absent_or_too_old_says_so() -> None:
    def absent(name: str, use_errno: bool) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    with pytest.raises(OSError, match="cannot open"):
        Native(load=absent)
    old = Library()
    del old.ibv_create_qp  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        native(old)
