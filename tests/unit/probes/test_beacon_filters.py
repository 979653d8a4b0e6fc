"""Kernel filters: frames with the run's nonce get in, all others are counted. Run by the kernel on socket pairs."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.probes.beacon_filters import all_but, attach, only, turned_away

pytestmark = pytest.mark.unit

NONCE = bytes(range(8))
OFFSET = 14
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of datagrams inside this process: the kernel filters those as it does frames."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def passes(pair: Pair, frame: bytes) -> bool:
    ours, theirs = pair
    theirs.send(frame)
    try:
        return ours.recv(2048) == frame
    except BlockingIOError:
        return False


FRAMES = [
    (b"\0" * OFFSET + NONCE, True),
    (b"\0" * OFFSET + NONCE + b"rest", True),
    (b"\0" * OFFSET + NONCE[:7] + b"\xff", False),
    (b"\0" * OFFSET + b"\xff" + NONCE[1:], False),
    (b"\0" * (OFFSET - 1) + NONCE, False),
    (b"\0" * (OFFSET + 1) + NONCE, False),
    (b"\0" * OFFSET + NONCE[:4], False),
    (b"\0" * OFFSET + NONCE[:7], False),
    (b"\0" * OFFSET, False),
    (b"x", False),
]


@pytest.mark.parametrize(("frame", "ours"), FRAMES)
def test_only_frames_with_the_nonce_at_its_place_get_in(pair: Pair, frame: bytes, ours: bool) -> None:
    attach(pair[0], only(NONCE, OFFSET))
    assert passes(pair, frame) is ours


@pytest.mark.parametrize(("frame", "ours"), FRAMES)
def test_the_other_filter_takes_exactly_the_rest(pair: Pair, frame: bytes, ours: bool) -> None:
    attach(pair[0], all_but(NONCE, OFFSET))
    assert passes(pair, frame) is not ours


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=st.binary(min_size=1, max_size=40), nonce=st.binary(min_size=8, max_size=8), offset=st.integers(0, 20))
def test_each_frame_passes_exactly_one_of_both(pair: Pair, frame: bytes, nonce: bytes, offset: int) -> None:
    attach(pair[0], only(nonce, offset))
    first = passes(pair, frame)
    attach(pair[0], all_but(nonce, offset))
    assert passes(pair, frame) is not first
    assert first is (frame[offset : offset + 8] == nonce)


def test_datagrams_turned_away_are_counted_by_the_kernel() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to,
    ):
        ours.bind(("127.0.0.1", 0))
        ours.setblocking(False)
        attach(ours, only(NONCE, 8))
        for payload in (NONCE, b"stray", b"stray too", NONCE + b"more"):
            to.sendto(payload, ours.getsockname())
        assert turned_away(ours) == 2
        assert [ours.recv(64), ours.recv(64)] == [NONCE, NONCE + b"more"]


def test_a_filter_that_is_none_is_refused_by_the_kernel(pair: Pair) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        attach(pair[0], [(0x20, 0, 0, 0)])
