"""The structures of infiniband/verbs.h that an RDMA ping hands to libibverbs, for `rdma_ping_native`.

They are libibverbs' binary interface since IBVERBS_1.1 (2007) on every 64-bit machine: compared with the header of
rdma-core 44. NCCL calls the library in the same way. Calls nothing.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

POST = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
POLL = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)
# place in struct ibv_context, in pointers: `device` comes first, then struct ibv_context_ops
POLL_CQ, POST_SEND, POST_RECV = 1 + 11, 1 + 25, 1 + 26
# enum ibv_qp_attr_mask
STATE, ACCESS_FLAGS, PKEY_INDEX, PORT, AV, PATH_MTU = 1 << 0, 1 << 3, 1 << 4, 1 << 5, 1 << 7, 1 << 8
QP_TIMEOUT, RETRY_CNT, RNR_RETRY, RQ_PSN, MAX_RD = 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13
MIN_RNR_TIMER, SQ_PSN, MAX_DEST_RD, DEST_QPN = 1 << 15, 1 << 16, 1 << 17, 1 << 20
TO_INIT = STATE | PKEY_INDEX | PORT | ACCESS_FLAGS
TO_RTR = STATE | AV | PATH_MTU | DEST_QPN | RQ_PSN | MAX_DEST_RD | MIN_RNR_TIMER
TO_RTS = STATE | QP_TIMEOUT | RETRY_CNT | RNR_RETRY | SQ_PSN | MAX_RD
INIT, RTR, RTS = 1, 2, 3


class Capacity(Structure):
    """struct ibv_qp_cap"""

    _fields_ = [(name, c_uint32) for name in ("send_wr", "recv_wr", "send_sge", "recv_sge", "inline_data")]


class NewPair(Structure):
    """struct ibv_qp_init_attr"""

    _fields_ = [
        ("qp_context", c_void_p),
        ("send_cq", c_void_p),
        ("recv_cq", c_void_p),
        ("srq", c_void_p),
        ("cap", Capacity),
        ("qp_type", c_int),
        ("sq_sig_all", c_int),
    ]


class Address(Structure):
    """struct ibv_ah_attr with its struct ibv_global_route; the GID is two big-endian 64-bit halves in memory."""

    _fields_ = [
        ("dgid", c_uint64 * 2),
        ("flow_label", c_uint32),
        ("sgid_index", c_uint8),
        ("hop_limit", c_uint8),
        ("traffic_class", c_uint8),
        ("_pad", c_uint8),
        ("dlid", c_uint16),
        ("sl", c_uint8),
        ("src_path_bits", c_uint8),
        ("static_rate", c_uint8),
        ("is_global", c_uint8),
        ("port_num", c_uint8),
        ("_end", c_uint8),
    ]


class PairState(Structure):
    """struct ibv_qp_attr"""

    _fields_ = [
        *((name, c_int) for name in ("qp_state", "cur_qp_state", "path_mtu", "path_mig_state")),
        *((name, c_uint32) for name in ("qkey", "rq_psn", "sq_psn", "dest_qp_num", "access_flags")),
        ("cap", Capacity),
        ("ah", Address),
        ("alt_ah", Address),
        ("pkey_index", c_uint16),
        ("alt_pkey_index", c_uint16),
        ("en_sqd_async_notify", c_uint8),
        ("sq_draining", c_uint8),
        ("max_rd_atomic", c_uint8),
        ("max_dest_rd_atomic", c_uint8),
        ("min_rnr_timer", c_uint8),
        ("port_num", c_uint8),
        ("timeout", c_uint8),
        ("retry_cnt", c_uint8),
        ("rnr_retry", c_uint8),
        ("alt_port_num", c_uint8),
        ("alt_timeout", c_uint8),
        ("rate_limit", c_uint32),
    ]


class Piece(Structure):
    """struct ibv_sge"""

    _fields_ = [("addr", c_uint64), ("length", c_uint32), ("lkey", c_uint32)]


class Send(Structure):
    """struct ibv_send_wr; `rest` is what atomics, UD and windows would use."""

    _fields_ = [
        ("wr_id", c_uint64),
        ("next", c_void_p),
        ("sg_list", POINTER(Piece)),
        ("num_sge", c_int),
        ("opcode", c_int),
        ("send_flags", c_uint32),
        ("imm_data", c_uint32),
        ("remote_addr", c_uint64),
        ("rkey", c_uint32),
        ("rest", c_uint8 * 76),
    ]


class Receive(Structure):
    """struct ibv_recv_wr"""

    _fields_ = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", POINTER(Piece)), ("num_sge", c_int)]


class Completion(Structure):
    """struct ibv_wc"""

    _fields_ = [
        ("wr_id", c_uint64),
        ("status", c_int),
        ("opcode", c_int),
        *((name, c_uint32) for name in ("vendor_err", "byte_len", "imm_data", "qp_num", "src_qp", "wc_flags")),
        ("pkey_index", c_uint16),
        ("slid", c_uint16),
        ("sl", c_uint8),
        ("dlid_path_bits", c_uint8),
    ]


class Region(Structure):
    """struct ibv_mr"""

    _fields_ = [
        ("context", c_void_p),
        ("pd", c_void_p),
        ("addr", c_void_p),
        ("length", c_size_t),
        *((name, c_uint32) for name in ("handle", "lkey", "rkey")),
    ]


class Pair(Structure):
    """The beginning of struct ibv_qp"""

    _fields_ = [
        *((name, c_void_p) for name in ("context", "qp_context", "pd", "send_cq", "recv_cq", "srq")),
        ("handle", c_uint32),
        ("qp_num", c_uint32),
    ]


def declare(library: Any) -> None:
    """Give the functions used their C types; AttributeError where one is missing."""
    pointer = c_void_p
    for name, result, arguments in (
        ("ibv_get_device_list", pointer, [POINTER(c_int)]),
        ("ibv_free_device_list", None, [pointer]),
        ("ibv_get_device_name", c_char_p, [pointer]),
        ("ibv_open_device", pointer, [pointer]),
        ("ibv_close_device", c_int, [pointer]),
        ("ibv_query_port", c_int, [pointer, c_uint8, pointer]),
        ("ibv_query_gid", c_int, [pointer, c_uint8, c_int, pointer]),
        ("ibv_alloc_pd", pointer, [pointer]),
        ("ibv_dealloc_pd", c_int, [pointer]),
        ("ibv_reg_mr", pointer, [pointer, pointer, c_size_t, c_int]),
        ("ibv_dereg_mr", c_int, [pointer]),
        ("ibv_create_cq", pointer, [pointer, c_int, pointer, pointer, c_int]),
        ("ibv_destroy_cq", c_int, [pointer]),
        ("ibv_create_qp", pointer, [pointer, pointer]),
        ("ibv_modify_qp", c_int, [pointer, pointer, c_int]),
        ("ibv_destroy_qp", c_int, [pointer]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
