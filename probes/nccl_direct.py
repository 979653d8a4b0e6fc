"""NCCL's own calls by ctypes, beside torch: sums and broadcasts out of place, and every op where torch's share matters.

The library is the one torch has loaded; the communicator is a second one of the same ranks. Signatures and numbers
from nccl.h (2.18-2.32): ncclUniqueId is 128 bytes by value, ncclInt32 2, ncclFloat16 6, ncclFloat32 7, ncclBfloat16 9,
ncclSum 0. The current stream is used, so calls can be captured. Never loaded on gloo. It frees nothing: a rank ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .calls import Call
from .shapes import ROOT, Shape

ID_BYTES = 128
LIBRARY = "libnccl.so.2"
MAPS = Path("/proc/self/maps")
DTYPES = {"int32": 2, "float16": 6, "float32": 7, "bfloat16": 9}
SUM = 0
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class UniqueId(ctypes.Structure):
    """ncclUniqueId."""

    _fields_ = (("internal", ctypes.c_char * ID_BYTES),)


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "ncclGetUniqueId": (_POINTER,),
    "ncclCommInitRank": (_POINTER, _INT, UniqueId, _INT),
    "ncclAllReduce": (_POINTER, _POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclReduceScatter": (_POINTER, _POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclAllGather": (_POINTER, _POINTER, _SIZE, _INT, _POINTER, _POINTER),
    "ncclBroadcast": (_POINTER, _POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclSend": (_POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclRecv": (_POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
}


def loaded_path(maps: Path = MAPS) -> str:
    """The file of the NCCL this process has loaded, else its usual name for the loader."""
    try:
        lines = maps.read_text().splitlines()
    except OSError:
        return LIBRARY
    paths = [line.split(None, 5)[5] for line in lines if "/libnccl.so" in line]
    return paths[0] if paths else LIBRARY


class Library:
    """NCCL's functions with their return codes made errors."""

    def __init__(self, library: Any = None) -> None:
        self._library = library if library is not None else ctypes.CDLL(loaded_path())
        self._library.ncclGetErrorString.restype = ctypes.c_char_p
        self._library.ncclGetErrorString.argtypes = (_INT,)
        for name, arguments in SIGNATURES.items():
            getattr(self._library, name).argtypes = arguments
            getattr(self._library, name).restype = _INT

    def __call__(self, name: str, *arguments: Any) -> None:
        """Call one function; RuntimeError with NCCL's own word for what it answered."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            said = self._library.ncclGetErrorString(code)
            raise RuntimeError(f"{name}: {(said or b'').decode('utf-8', 'replace')} ({code})")


class DirectCalls:
    """A communicator of NCCL's for one launch. `share` tells rank 0's bytes to all, `stream` gives the current one."""

    def __init__(
        self,
        rank: int,
        world: int,
        share: Callable[[str, bytes], bytes],
        stream: Callable[[], int],
        library: Library | None = None,
    ) -> None:
        self._nccl = library or Library()
        self._rank = rank
        self._world = world
        self._stream = stream
        made = UniqueId()
        if rank == 0:
            self._nccl("ncclGetUniqueId", ctypes.byref(made))
        everybodys = UniqueId.from_buffer_copy(share("nccl-id", bytes(made)))
        self._comm = ctypes.c_void_p(None)
        self._nccl("ncclCommInitRank", ctypes.byref(self._comm), world, everybodys, rank)

    def bind(self, shape: Shape, send: Any, receive: Any) -> Call:
        """A function that runs the op once from `send` to `receive` (in place they share memory)."""
        kind, source, target = DTYPES[shape.dtype], send.data_ptr(), receive.data_ptr()
        sends, receives = send.numel(), receive.numel()
        nccl, comm, stream = self._nccl, self._comm, self._stream
        if shape.op == "all_reduce":
            return lambda: nccl("ncclAllReduce", source, target, sends, kind, SUM, comm, stream())
        if shape.op == "reduce_scatter":
            return lambda: nccl("ncclReduceScatter", source, target, receives, kind, SUM, comm, stream())
        if shape.op == "all_gather":
            return lambda: nccl("ncclAllGather", source, target, sends, kind, comm, stream())
        if shape.op == "broadcast":
            return lambda: nccl("ncclBroadcast", source, target, sends, kind, ROOT, comm, stream())
        return self._group(self._messages(shape, send, receive), kind)

    def _messages(self, shape: Shape, send: Any, receive: Any) -> list[tuple[str, int, int, int]]:
        """(function, address, elements, peer) of an op that NCCL has as sends and receives in a group."""
        source, target, item = send.data_ptr(), receive.data_ptr(), send.element_size()
        if shape.op == "send_recv":
            after, before = (self._rank + 1) % self._world, (self._rank - 1) % self._world
            return [("ncclSend", source, send.numel(), after), ("ncclRecv", target, receive.numel(), before)]
        part = send.numel() // self._world
        places = [(peer, peer * part * item) for peer in range(self._world)]
        sent = [("ncclSend", source + at, part, peer) for peer, at in places]
        return sent + [("ncclRecv", target + at, part, peer) for peer, at in places]

    def _group(self, messages: list[tuple[str, int, int, int]], kind: int) -> Call:
        nccl, comm, stream = self._nccl, self._comm, self._stream

        def call() -> None:
            nccl("ncclGroupStart")
            for name, address, count, peer in messages:
                nccl(name, address, count, kind, peer, comm, stream())
            nccl("ncclGroupEnd")

        return call
