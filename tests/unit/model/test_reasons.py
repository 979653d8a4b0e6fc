"""What a failed launch's raw text becomes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.reasons import plain_reason

pytestmark = pytest.mark.unit

GLOO = (
    "RuntimeError: Gloo connectFullMesh failed with [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/"
    "pair.cc:152] timed out connecting: SO_ERROR: Connection refused, remote=[{address}]:48019$1"
)
NCCL = (
    "DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, "
    "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.28.9"
)


def test_gloo_on_the_loopback_is_one_sentence_with_the_cause() -> None:
    assert plain_reason(GLOO.format(address="127.0.0.1")) == (
        "without GLOO_SOCKET_IFNAME gloo offered the loopback address 127.0.0.1, which the other node cannot reach; "
        "expected where the hostname resolves to loopback or to nothing"
    )
    assert "address ::1, which" in plain_reason(GLOO.format(address="::1"))
    assert "address 127.0.1.1, which" in plain_reason("gloo: connect to 127.0.1.1:4711: Connection refused")


def test_another_address_or_a_set_interface_is_no_such_cause() -> None:
    for text in (
        plain_reason(GLOO.format(address="10.77.0.2")),
        plain_reason(GLOO.format(address="127.0.0.1"), ["GLOO_SOCKET_IFNAME"]),
    ):
        assert text.startswith("RuntimeError: Gloo connectFullMesh failed with timed out connecting: SO_ERROR: ")
        assert "pair.cc" not in text
    assert "loopback" not in plain_reason("TCPStore: remote=[127.0.0.1]:80 refused")


def test_source_places_go_and_the_first_line_stays() -> None:
    assert plain_reason(NCCL) == (
        "DistBackendError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details), "
        "NCCL version 2.28.9"
    )
    assert plain_reason("\n  one [a/b.cc:7] two\nthree") == "one two"
    assert plain_reason("no word from rank 1 for 60 s") == "no word from rank 1 for 60 s"
    assert plain_reason("boom; Exception raised from f at ../csrc/x.cpp:12 (most recent call first)") == "boom"


@given(st.text())
def test_any_text_is_one_line_and_done_once(text: str) -> None:
    once = plain_reason(text)
    assert len(once.splitlines()) <= 1
    assert plain_reason(once) == once
