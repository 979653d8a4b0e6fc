"""The structures handed to libibverbs are those of its header, byte for byte, and its functions get their types."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from fabricdoc.probes import rdma_ping_abi as abi

pytestmark = pytest.mark.unit


def test_the_structures_are_those_of_verbs_h() -> None:
    """sizeof and offsetof of rdma-core 44's header, x86_64 (the same on every LP64 machine)."""
    kinds = (abi.NewPair, abi.Address, abi.PairState, abi.Piece, abi.Send, abi.Receive, abi.Completion, abi.Region)
    assert [ctypes.sizeof(kind) for kind in kinds] == [64, 32, 144, 16, 128, 32, 48, 48]
    assert abi.Pair.qp_num.offset == 52
    assert abi.PairState.retry_cnt.offset == 131
    assert (abi.Send.remote_addr.offset, abi.Send.rkey.offset) == (40, 48)
    assert abi.PairState.ah.offset + abi.Address.port_num.offset == 86
    assert (abi.POLL_CQ, abi.POST_SEND, abi.POST_RECV) == (12, 26, 27)
    assert (abi.TO_INIT, abi.TO_RTR, abi.TO_RTS) == (57, 1216897, 77313)


def test_every_function_gets_its_types_and_a_missing_one_is_told() -> None:
    class Any:
        restype: object = None
        argtypes: object = None

    names = [
        *("ibv_get_device_list", "ibv_free_device_list", "ibv_get_device_name", "ibv_open_device", "ibv_close_device"),
        *("ibv_query_port", "ibv_query_gid", "ibv_alloc_pd", "ibv_dealloc_pd", "ibv_reg_mr", "ibv_dereg_mr"),
        *("ibv_create_cq", "ibv_destroy_cq", "ibv_create_qp", "ibv_modify_qp", "ibv_destroy_qp"),
    ]
    library = SimpleNamespace(**{name: Any() for name in names})
    abi.declare(library)
    assert library.ibv_open_device.restype is ctypes.c_void_p  # an int would cut an address in half
    assert all(one.argtypes for one in vars(library).values())
    del library.ibv_create_qp
    with pytest.raises(AttributeError):
        abi.declare(library)
