"""An end of an RDMA ping by the distribution's pyverbs (rdma-core), where the node's python can import it.

Constants are `rdma_ping_end`'s own: pyverbs moved its from `enums` to `libibverbs_enums` (44 has one, 59 the other).
Does not decide what to send, nor whether another provider would do.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

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

MODULES = ("device", "pd", "mr", "cq", "qp", "wr", "addr", "pyverbs_error")


class Pyverbs:
    """The library, loaded; raises ImportError or OSError where it is absent or built for another libibverbs."""

    name = "pyverbs"

    def __init__(self) -> None:
        loaded = {name: import_module(f"pyverbs.{name}") for name in MODULES}
        self.error: type[Exception] = loaded["pyverbs_error"].PyverbsError
        self.names = {name: value for module in loaded.values() for name, value in vars(module).items()}

    def open(self, place: Place, psn: int) -> PyverbsEnd:
        """A queue pair at `place`, ready to be connected; raises Refused and leaves nothing behind."""
        end = PyverbsEnd(self, place, psn)
        try:
            end.prepare()
        except BaseException:
            end.close()
            raise
        return end

    def call(self, phase: str, verb: Callable[..., Any], *words: Any, **named: Any) -> Any:
        """Call a verb; raises Refused with its errno."""
        try:
            return verb(*words, **named)
        except self.error as error:
            errno = getattr(error, "error_code", 0)
            raise Refused(phase, errno if isinstance(errno, int) and errno > 0 else 0, str(error)) from error


class PyverbsEnd:
    """One RC queue pair with its memory; `active_mtu` in bytes (0: not told)."""

    def __init__(self, library: Pyverbs, place: Place, psn: int) -> None:
        self._library, self._place, self.psn = library, place, psn
        self.memory = Memory()
        self._opened: list[Any] = []
        self._region: Any = None
        self._queue: Any = None
        self._pair: Any = None
        self._peer = Peer("", 0, 0, 0, 0)
        self.active_mtu = 0

    def prepare(self) -> None:
        """Open the device, register the memory, make the queue pair, post the receives."""
        names, place = self._library.names, self._place
        context = self._made("open", names["Context"], name=place.device)
        code = self._library.call("port", context.query_port, place.port).active_mtu
        self.active_mtu = next((size for size, known in MTU_CODES.items() if known == code), 0)
        found = str(self._library.call("gid", context.query_gid, place.port, place.gid_index))
        if not same_gid(found, place.gid):
            raise Refused("gid", 0, f"GID index {place.gid_index} of {place.device} holds {found}, not {place.gid}")
        domain = self._made("pd", names["PD"], context)
        self._region = self._made("mr", names["MR"], domain, BYTES, ACCESS, self.memory.address)
        self._queue = self._made("cq", names["CQ"], context, 2 * QUEUE_DEPTH)
        room = names["QPCap"](max_send_wr=QUEUE_DEPTH, max_recv_wr=QUEUE_DEPTH, max_send_sge=1, max_recv_sge=1)
        wanted = names["QPInitAttr"](qp_type=QPT_RC, scq=self._queue, rcq=self._queue, cap=room, sq_sig_all=1)
        self._pair = self._made("qp", names["QP"], domain, wanted)
        state = names["QPAttr"](port_num=place.port)
        state.qp_access_flags, state.pkey_index = ACCESS, 0
        self._library.call("init", self._pair.to_init, state)
        for slot in range(RECEIVES):
            self.receive(slot)

    def _made(self, phase: str, kind: Callable[..., Any], *words: Any, **named: Any) -> Any:
        made = self._library.call(phase, kind, *words, **named)
        self._opened.append(made)
        return made

    def about(self) -> dict[str, Any]:
        """What the peer must know, and the port's active MTU."""
        return {
            "qpn": self._pair.qp_num,
            "psn": self.psn,
            "rkey": self._region.rkey,
            "address": self.memory.address + LARGEST,
            "active_mtu": self.active_mtu,
        }

    def connect(self, peer: Peer, path_mtu: int) -> None:
        """To RTR, then RTS; raises Refused in phase `rtr` or `rts`. May wait a second or more for an ARP answer."""
        names, place = self._library.names, self._place
        self._peer = peer
        route = names["GlobalRoute"](
            dgid=names["GID"](peer.gid), sgid_index=place.gid_index, hop_limit=HOPS, traffic_class=0
        )
        state = names["QPAttr"](port_num=place.port)
        state.ah_attr = names["AHAttr"](gr=route, is_global=1, port_num=place.port)
        state.path_mtu, state.dest_qp_num, state.rq_psn = MTU_CODES[path_mtu], peer.qpn, peer.psn
        state.max_dest_rd_atomic, state.min_rnr_timer = 1, RNR_TIMER
        state.qp_access_flags = ACCESS
        self._library.call("rtr", self._pair.to_rtr, state)
        state.sq_psn, state.max_rd_atomic = self.psn, 1
        state.timeout, state.retry_cnt, state.rnr_retry = TIMEOUT, RETRIES, RNR_RETRIES
        self._library.call("rts", self._pair.to_rts, state)

    def receive(self, slot: int) -> None:
        """Post one slot to be received in."""
        names = self._library.names
        place = names["SGE"](self.memory.address + RECEIVED_AT + slot * LARGEST, LARGEST, self._region.lkey)
        work = names["RecvWR"](wr_id=16 + slot, sg=[place], num_sge=1)
        self._library.call("post", self._pair.post_recv, work)

    def send(self, size: int) -> None:
        """SEND the first `size` bytes of the memory."""
        self._post(SENT, WR_SEND, size)

    def write(self, size: int, at: int = 0) -> None:
        """RDMA WRITE them to the peer, `at` bytes behind where it said."""
        self._post(WROTE, WR_RDMA_WRITE, size, at)

    def _post(self, work: int, opcode: int, size: int, at: int = 0) -> None:
        names = self._library.names
        source = names["SGE"](self.memory.address, size, self._region.lkey)
        request = names["SendWR"](wr_id=work, opcode=opcode, num_sge=1, sg=[source], send_flags=SIGNALED)
        if opcode == WR_RDMA_WRITE:
            request.set_wr_rdma(self._peer.rkey, self._peer.address + at)
        self._library.call("post", self._pair.post_send, request)

    def poll(self) -> list[Done]:
        """The completions there are now."""
        _count, found = self._library.call("poll", self._queue.poll, QUEUE_DEPTH)
        return [Done(one.wr_id, one.status, one.byte_len) for one in found]

    def close(self) -> None:
        """Destroy all of it, the queue pair first."""
        while self._opened:
            try:
                self._opened.pop().close()
            except self._library.error:
                continue
        self.memory.close()
