"""Datagrams between ears on the loopback: real sockets, real sizes, signed questions, and nothing for strangers."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import echo
from fabricdoc.probes.echo import ANSWER, QUESTION, Asks, Ear, pack, unpack
from tests.unit.probes.test_dial import has_ipv6

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

KEY = bytes(range(32))


@pytest.fixture
def pair() -> Iterator[tuple[Ear, Ear]]:
    """Two ears on the loopback."""
    ears = Ear("lo", "127.0.0.1", KEY), Ear("lo", "127.0.0.1", KEY)
    yield ears
    for ear in ears:
        ear.socket.close()


def run(asks: Asks, *ears: Ear, limit_s: float = 5.0) -> list[dict[str, object]]:
    end = time.monotonic() + limit_s
    while not asks.over and time.monotonic() < end:
        asks.advance()
        for ready in select.select([ear.socket for ear in ears], [], [], 0.05)[0]:
            asks.note(next(ear for ear in ears if ear.socket is ready).hear())
    return asks.report()


def question(ear: Ear, size: int, asker: Ear) -> dict[str, object]:
    return {"netdev": asker.netdev, "ip": asker.ip, "to_ip": ear.ip, "to_port": ear.port, "size": size}


def test_both_sizes_arrive_and_the_interface_is_named(pair: tuple[Ear, Ear]) -> None:
    asker, ear = pair
    asks = Asks({("lo", "127.0.0.1"): asker}, [question(ear, 56, asker), question(ear, 8972, asker)])
    told = run(asks, *pair)
    assert [(one["arrived"], one["came_in_by"], one["reason"]) for one in told] == [(True, "lo", "")] * 2
    assert told[1]["size"] == 8972


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_over_ipv6_both_sizes_arrive_and_the_interface_is_named() -> None:
    ears = Ear("lo", "::1", KEY), Ear("lo", "::1", KEY)
    try:
        asks = Asks({("lo", "::1"): ears[0]}, [question(ears[1], 56, ears[0]), question(ears[1], 8952, ears[0])])
        told = run(asks, *ears)
    finally:
        for ear in ears:
            ear.socket.close()
    assert [(one["arrived"], one["came_in_by"], one["reason"]) for one in told] == [(True, "lo", "")] * 2


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize(
    ("ip", "scoped"), [("fe80::1", True), ("febf::1", True), ("fec0::1", False), ("fd00::1", False)]
)
def test_a_link_local_address_goes_with_the_interface(ip: str, scoped: bool) -> None:
    ear = Ear("lo", "::1", KEY)
    try:
        assert ear._scoped(ip, 7) == ((ip, 7, 0, socket.if_nametoindex("lo")) if scoped else (ip, 7))
    finally:
        ear.socket.close()


def test_a_question_is_as_large_as_wanted_and_its_answer_small(pair: tuple[Ear, Ear]) -> None:
    asker, ear = pair
    asker.ask(7, ("127.0.0.1", ear.port), 8972)
    select.select([ear.socket], [], [], 5)
    data, sender = ear.socket.recvfrom(65535)
    assert (len(data), sender[1]) == (8972, asker.port)
    assert len(pack(KEY, ANSWER, 7, b"x" * echo.MAX_NAME)) < 56


def test_nobody_there_is_asked_four_times_and_given_up(pair: tuple[Ear, Ear]) -> None:
    asker, ear = pair
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        wanted = {**question(ear, 56, asker), "to_port": deaf.getsockname()[1]}
        begun = time.monotonic()
        (told,) = run(Asks({("lo", "127.0.0.1"): asker}, [wanted]), asker)
        deaf.setblocking(False)
        heard = sum(1 for _ in range(echo.TRIES) if deaf.recv(100))
    assert (told["arrived"], told["came_in_by"], told["reason"]) == (False, "", "")
    assert heard == echo.TRIES
    assert 0.9 < time.monotonic() - begun < 4


def test_a_frame_the_interface_can_not_take_has_the_kernels_reason(pair: tuple[Ear, Ear]) -> None:
    asker, ear = pair
    (told,) = run(Asks({("lo", "127.0.0.1"): asker}, [question(ear, 65507 + 100, asker)]), *pair)
    assert told["arrived"] is True  # loopback has 65536: the size is cut to what UDP can carry
    asks = Asks({}, [question(ear, 56, asker)])
    assert run(asks, *pair)[0]["reason"] == "no such address was opened"


def test_strangers_get_no_answer(pair: tuple[Ear, Ear]) -> None:
    _asker, ear = pair
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.settimeout(0.2)
        for data in (b"", b"hello", pack(bytes(32), QUESTION, 1), pack(KEY, QUESTION, 1)[:-1], pack(KEY, 9, 1)):
            stranger.sendto(data, ("127.0.0.1", ear.port))
        select.select([ear.socket], [], [], 5)
        assert ear.hear() == []
        with pytest.raises(TimeoutError):
            stranger.recv(100)


def test_an_answer_to_nothing_that_was_asked_is_dropped(pair: tuple[Ear, Ear]) -> None:
    asker, ear = pair
    asks = Asks({("lo", "127.0.0.1"): asker}, [question(ear, 56, asker)])
    asks.note([(5, "lo")])
    assert not asks.over
    assert asks.report()[0]["arrived"] is False


def test_an_address_or_interface_that_is_not_there() -> None:
    with pytest.raises(OSError, match=r"."):
        Ear("no-such-port0", "127.0.0.1", KEY)
    with pytest.raises(OSError, match="assign"):
        Ear("lo", "192.0.2.1", KEY)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=echo.MAX_NAME), st.integers(0, 9000))
def test_what_was_packed_is_unpacked(number: int, name: bytes, size: int) -> None:
    packed = pack(KEY, ANSWER, number, name, size)
    assert unpack(KEY, packed) == (ANSWER, number, name.decode("utf-8", "replace"))
    assert len(packed) >= size


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_without_raising(data: bytes) -> None:
    assert unpack(KEY, data) is None
    assert unpack(KEY, b"fd" + data) is None


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_flipped_byte_is_refused(at: int, flip: int) -> None:
    packed = bytearray(pack(KEY, QUESTION, 3, b"p0"))
    packed[at % len(packed)] ^= flip
    assert unpack(KEY, bytes(packed)) is None
