"""An end of an RDMA ping by the node's own libibverbs through ctypes: all it takes is the library that NCCL loads.

Does what the `ibverbs` wheel would (that opens the same library), and sends nothing along. Does not decide what to
send. A verb that fails raises `Refused`; nothing of an end is left after `close`.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable
from typing import Any

from .rdma_ping_abi import (
    INIT,
    POLL,
    POLL_CQ,
    POST,
    POST_RECV,
    POST_SEND,
    RTR,
    RTS,
    TO_INIT,
    TO_RTR,
    TO_RTS,
    Completion,
    NewPair,
    Pair,
    PairState,
    Piece,
    Receive,
    Region,
    Send,
    declare,
)
from .rdma_ping_end import (
    ACCESS,
    BYTES,
    HOPS,
    LARGEST,
    MTU_CODES,
    QPT_RC,
    QUEUE_DEPTH,
    RECEIVED_AT,
    RECEIVES,
    RETRIES,
    RNR_RETRIES,
    RNR_TIMER,
    SENT,
    SIGNALED,
    TIMEOUT,
    WR_RDMA_WRITE,
    WR_SEND,
    WROTE,
    Done,
    Memory,
    Peer,
    Place,
    Refused,
    same_gid,
)

LIBRARY = "libibverbs.so.1"
PORT_ATTRIBUTES = 512


class Native:
    """libibverbs, loaded; raises OSError where it can't be, AttributeError where it lacks a function."""

    name = "libibverbs"

    def __init__(self, load: Callable[..., Any] = ctypes.CDLL) -> None:
        self.calls = load(LIBRARY, use_errno=True)
        declare(self.calls)

    def open(self, place: Place, psn: int) -> NativeEnd:
        """A queue pair at `place`, ready to be connected; raises Refused and leaves nothing behind."""
        end = NativeEnd(self, place, psn)
        try:
            end.prepare()
        except BaseException:
            end.close()
            raise
        return end

    def made(self, phase: str, verb: Callable[..., Any], *words: Any) -> int:
        """What a verb that returns a pointer made; raises Refused for a null pointer."""
        ctypes.set_errno(0)
        pointer = verb(*words)
        if not pointer:
            raise refused(phase, ctypes.get_errno())
        return int(pointer)

    def device(self, name: str) -> int:
        """The device of that name, opened; raises Refused."""
        count = ctypes.c_int(0)
        listed = self.made("open", self.calls.ibv_get_device_list, ctypes.byref(count))
        try:
            for device in (ctypes.c_void_p * count.value).from_address(listed):
                if self.calls.ibv_get_device_name(device) == name.encode():
                    return self.made("open", self.calls.ibv_open_device, device)
        finally:
            self.calls.ibv_free_device_list(listed)
        raise Refused("open", 19, f"libibverbs lists no device {name}")


def refused(phase: str, errno: int) -> Refused:
    """The failure of a verb with the system's words for its errno."""
    return Refused(phase, errno, f"{os.strerror(errno)} (errno {errno})" if errno else "no errno")


class NativeEnd:
    """One RC queue pair with its memory; `active_mtu` in bytes (0: not told)."""

    def __init__(self, library: Native, place: Place, psn: int) -> None:
        self._library, self._calls, self._place, self.psn = library, library.calls, place, psn
        self.memory = Memory()
        self._undo: list[tuple[Any, int]] = []
        self._peer = Peer("", 0, 0, 0, 0)
        self.active_mtu = 0

    def prepare(self) -> None:
        """Open the device, register the memory, make the queue pair, post the receives."""
        calls, made = self._calls, self._made
        context = self._library.device(self._place.device)
        self._undo.append((calls.ibv_close_device, context))
        self._look(context)
        domain = made("pd", calls.ibv_dealloc_pd, calls.ibv_alloc_pd, context)
        memory = (domain, self.memory.address, BYTES, ACCESS)
        self._region = Region.from_address(made("mr", calls.ibv_dereg_mr, calls.ibv_reg_mr, *memory))
        depth = 2 * QUEUE_DEPTH
        self._queue = made("cq", calls.ibv_destroy_cq, calls.ibv_create_cq, context, depth, None, None, 0)
        wanted = NewPair(send_cq=self._queue, recv_cq=self._queue, qp_type=QPT_RC, sq_sig_all=1)
        wanted.cap.send_wr = wanted.cap.recv_wr = QUEUE_DEPTH
        wanted.cap.send_sge = wanted.cap.recv_sge = 1
        self._pair = made("qp", calls.ibv_destroy_qp, calls.ibv_create_qp, domain, ctypes.addressof(wanted))
        operations = ctypes.cast(context, ctypes.POINTER(ctypes.c_void_p))
        self._poll = POLL(operations[POLL_CQ] or 0)
        self._post_send, self._post_recv = POST(operations[POST_SEND] or 0), POST(operations[POST_RECV] or 0)
        self._modify("init", PairState(qp_state=INIT, port_num=self._place.port, access_flags=ACCESS), TO_INIT)
        for slot in range(RECEIVES):
            self.receive(slot)

    def _made(self, phase: str, undo: Any, verb: Any, *words: Any) -> int:
        pointer = self._library.made(phase, verb, *words)
        self._undo.append((undo, pointer))
        return pointer

    def _look(self, context: int) -> None:
        """Read the port's active MTU, and hold the GID at the index against the one that is meant."""
        place = self._place
        port = (ctypes.c_int * (PORT_ATTRIBUTES // 4))()
        if status := self._calls.ibv_query_port(context, place.port, ctypes.byref(port)):
            raise refused("port", status)
        self.active_mtu = next((size for size, known in MTU_CODES.items() if known == port[2]), 0)
        gid = (ctypes.c_uint8 * 16)()
        if self._calls.ibv_query_gid(context, place.port, place.gid_index, ctypes.byref(gid)):
            raise refused("gid", ctypes.get_errno())
        found = socket.inet_ntop(socket.AF_INET6, bytes(gid))
        if not same_gid(found, place.gid):
            raise Refused("gid", 0, f"GID index {place.gid_index} of {place.device} holds {found}, not {place.gid}")

    def about(self) -> dict[str, Any]:
        """What the peer must know, and the port's active MTU."""
        return {
            "qpn": Pair.from_address(self._pair).qp_num,
            "psn": self.psn,
            "rkey": self._region.rkey,
            "address": self.memory.address + LARGEST,
            "active_mtu": self.active_mtu,
        }

    def _modify(self, phase: str, state: PairState, mask: int) -> None:
        if status := self._calls.ibv_modify_qp(self._pair, ctypes.addressof(state), mask):
            raise refused(phase, status if status > 0 else ctypes.get_errno())

    def connect(self, peer: Peer, path_mtu: int) -> None:
        """To RTR, then RTS; raises Refused in phase `rtr` or `rts`. May wait a second or more for an ARP answer."""
        self._peer = peer
        state = PairState(qp_state=RTR, path_mtu=MTU_CODES[path_mtu], dest_qp_num=peer.qpn, rq_psn=peer.psn)
        state.max_dest_rd_atomic, state.min_rnr_timer = 1, RNR_TIMER
        gid = ctypes.create_string_buffer(socket.inet_pton(socket.AF_INET6, peer.gid), 16)
        ctypes.memmove(ctypes.addressof(state.ah), gid, 16)
        state.ah.sgid_index, state.ah.hop_limit = self._place.gid_index, HOPS
        state.ah.is_global, state.ah.port_num = 1, self._place.port
        self._modify("rtr", state, TO_RTR)
        state = PairState(qp_state=RTS, sq_psn=self.psn, max_rd_atomic=1)
        state.timeout, state.retry_cnt, state.rnr_retry = TIMEOUT, RETRIES, RNR_RETRIES
        self._modify("rts", state, TO_RTS)

    def receive(self, slot: int) -> None:
        """Post one slot to be received in."""
        piece = Piece(self.memory.address + RECEIVED_AT + slot * LARGEST, LARGEST, self._region.lkey)
        self._give(self._post_recv, Receive(wr_id=16 + slot, sg_list=ctypes.pointer(piece), num_sge=1))

    def send(self, size: int) -> None:
        """SEND the first `size` bytes of the memory."""
        self._post(SENT, WR_SEND, size)

    def write(self, size: int, at: int = 0) -> None:
        """RDMA WRITE them to the peer, `at` bytes behind where it said."""
        self._post(WROTE, WR_RDMA_WRITE, size, at)

    def _post(self, work: int, opcode: int, size: int, at: int = 0) -> None:
        piece = Piece(self.memory.address, size, self._region.lkey)
        request = Send(wr_id=work, sg_list=ctypes.pointer(piece), num_sge=1, opcode=opcode, send_flags=SIGNALED)
        request.remote_addr, request.rkey = self._peer.address + at, self._peer.rkey
        self._give(self._post_send, request)

    def _give(self, post: Any, work: ctypes.Structure) -> None:
        bad = ctypes.c_void_p()
        if status := post(self._pair, ctypes.addressof(work), ctypes.addressof(bad)):
            raise refused("post", abs(status))

    def poll(self) -> list[Done]:
        """The completions there are now."""
        room = (Completion * QUEUE_DEPTH)()
        count = self._poll(self._queue, QUEUE_DEPTH, ctypes.addressof(room))
        if count < 0:
            raise refused("poll", abs(count))
        return [Done(one.wr_id, one.status, one.byte_len) for one in room[:count]]

    def close(self) -> None:
        """Destroy all of it, the queue pair first."""
        while self._undo:
            undo, pointer = self._undo.pop()
            undo(pointer)
        self.memory.close()
