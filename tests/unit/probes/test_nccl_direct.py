"""NCCL's own calls against a stand-in with NCCL's C signatures: right function, addresses, counts, numbers, order."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes.nccl_direct import ID_BYTES, SIGNATURES, DirectCalls, Library, UniqueId, loaded_path
from fabricdoc.probes.shapes import Shape
from tests.drivers import Library as Stand

pytestmark = pytest.mark.unit

COMM, STREAM = 0xC0, 0x57


class Tensor:
    """What a call needs to know of a tensor."""

    def __init__(self, address: int, count: int, item: int) -> None:
        self.data_ptr = lambda: address
        self.numel = lambda: count
        self.element_size = lambda: item


class Nccl:
    """NCCL as C functions that write down how they are called; `answers` are codes by name."""

    def __init__(self, **answers: int) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.library = Stand()
        for name, types in SIGNATURES.items():
            self.library.add(name, self._note(name, answers.get(name, 0)), ctypes.c_int, *types)
        self.library.add("ncclGetErrorString", lambda code: self._words(code), ctypes.c_void_p, ctypes.c_int)
        self.kept = ctypes.create_string_buffer(b"unhandled system error")

    def _words(self, code: int) -> int:
        return ctypes.addressof(self.kept)

    def _note(self, name: str, answer: int) -> Any:
        def call(*words: Any) -> int:
            if name == "ncclGetUniqueId":
                ctypes.memmove(words[0], bytes(range(ID_BYTES)), ID_BYTES)
            elif name == "ncclCommInitRank":
                ctypes.c_void_p.from_address(words[0]).value = COMM
                words = (words[1], bytes(words[2]), words[3])
            self.seen.append((name, *words))
            return answer

        return call

    def calls(self, rank: int = 1, world: int = 2, said: bytes = bytes(range(ID_BYTES))) -> DirectCalls:
        made = DirectCalls(rank, world, lambda name, data: said, lambda: STREAM, Library(self.library))
        self.joined, self.seen = self.seen, []
        return made


def test_the_first_rank_makes_the_id_and_all_join_by_it() -> None:
    nccl = Nccl()
    nccl.calls(rank=1)
    assert nccl.joined == [("ncclCommInitRank", 2, bytes(range(ID_BYTES)), 1)]
    told: list[tuple[str, bytes]] = []
    DirectCalls(0, 2, lambda name, data: told.append((name, data)) or data, lambda: STREAM, Library(nccl.library))
    assert told == [("nccl-id", bytes(range(ID_BYTES)))], "zeros and all"
    assert nccl.seen[-1] == ("ncclCommInitRank", 2, bytes(range(ID_BYTES)), 0)


@pytest.mark.parametrize(
    ("shape", "called"),
    [
        (Shape("all_reduce", 64, "bfloat16", False), ("ncclAllReduce", 4096, 8192, 32, 9, 0, COMM, STREAM)),
        (Shape("broadcast", 64, "float16", False), ("ncclBroadcast", 4096, 8192, 32, 6, 0, COMM, STREAM)),
        (Shape("all_gather", 64, "float32", False), ("ncclAllGather", 4096, 8192, 32, 7, COMM, STREAM)),
        (Shape("reduce_scatter", 64, "int32", False), ("ncclReduceScatter", 4096, 8192, 16, 2, 0, COMM, STREAM)),
    ],
)
def test_counts_are_nccls_own(shape: Shape, called: tuple[Any, ...]) -> None:
    nccl = Nccl()
    nccl.calls().bind(shape, Tensor(4096, 32, 4), Tensor(8192, 16, 4))()
    assert nccl.seen == [called]


def test_sends_and_receives_are_grouped_and_go_to_their_places() -> None:
    nccl = Nccl()
    calls = nccl.calls(rank=1, world=3)
    calls.bind(Shape("send_recv", 64, "float32", False), Tensor(4096, 16, 4), Tensor(8192, 16, 4))()
    assert nccl.seen == [
        ("ncclGroupStart",),
        ("ncclSend", 4096, 16, 7, 2, COMM, STREAM),
        ("ncclRecv", 8192, 16, 7, 0, COMM, STREAM),
        ("ncclGroupEnd",),
    ]
    nccl.seen.clear()
    calls.bind(Shape("all_to_all", 96, "int32", False), Tensor(4096, 24, 4), Tensor(8192, 24, 4))()
    assert nccl.seen == [
        ("ncclGroupStart",),
        *(("ncclSend", 4096 + peer * 32, 8, 2, peer, COMM, STREAM) for peer in range(3)),
        *(("ncclRecv", 8192 + peer * 32, 8, 2, peer, COMM, STREAM) for peer in range(3)),
        ("ncclGroupEnd",),
    ]


@pytest.mark.parametrize("name", ["ncclCommInitRank", "ncclAllReduce"])
def test_what_nccl_refuses_is_an_error_in_its_words(name: str) -> None:
    nccl = Nccl(**{name: 2})
    with pytest.raises(RuntimeError, match=rf"{name}: unhandled system error \(2\)"):
        nccl.calls().bind(Shape("all_reduce", 8, "int32", False), Tensor(0, 2, 4), Tensor(0, 2, 4))()


def test_the_loaded_library_is_found_by_the_map(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 1  /usr/lib/libc.so.6\n"
        "7f02-7f03 r-xp 00000000 08:01 2  /opt/my venv/nvidia/nccl/lib/libnccl.so.2\n"
    )
    assert loaded_path(maps) == "/opt/my venv/nvidia/nccl/lib/libnccl.so.2"
    maps.write_text("")
    assert loaded_path(maps) == loaded_path(tmp_path / "none") == "libnccl.so.2"


def test_an_id_is_128_bytes_by_value() -> None:
    assert ctypes.sizeof(UniqueId) == ID_BYTES
