"""Beacon frames: sealed with the run's key, refused when cut, forged, replayed or malformed."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabricdoc.probes.beacon_frames import HEAD, MAX_BODY, MIN_PAYLOAD, Sender, seal, unseal

pytestmark = pytest.mark.unit

KEY, NONCE = bytes(range(32)), b"nonce-01"
ALPHA = Sender("alpha", "enp1s0f0np0", "02:00:00:00:00:01")


def sealed(body: bytes, *, length: int | None = None, key: bytes = KEY, nonce: bytes = NONCE) -> bytes:
    """A frame with a good seal around anything: what a node that has the key may send."""
    signed = nonce + (len(body) if length is None else length).to_bytes(2, "big") + body
    return (signed + hmac.new(key, signed, hashlib.sha256).digest()).ljust(MIN_PAYLOAD, b"\0")


def said(**words: Any) -> bytes:
    return sealed(json.dumps({**ALPHA._asdict(), **words}).encode())


def test_a_sealed_frame_opens_with_the_same_key_and_nonce_only() -> None:
    frame = seal(KEY, NONCE, ALPHA)
    assert unseal(KEY, NONCE, frame) == ALPHA
    assert unseal(bytes(32), NONCE, frame) is None, "wrong key, right nonce"
    assert unseal(KEY, b"nonce-02", frame) is None, "replayed from another run"
    assert unseal(KEY, NONCE, NONCE + frame[8:]) == ALPHA


def test_the_nonce_of_another_run_can_not_be_replaced() -> None:
    old = seal(KEY, b"nonce-00", ALPHA)
    assert unseal(KEY, NONCE, NONCE + old[8:]) is None


def test_the_nonce_stands_first_for_the_kernels_filter() -> None:
    assert seal(KEY, NONCE, ALPHA).startswith(NONCE)
    assert len(seal(KEY, NONCE, ALPHA)) >= MIN_PAYLOAD


def test_what_the_wire_adds_behind_is_passed_over() -> None:
    assert unseal(KEY, NONCE, seal(KEY, NONCE, ALPHA) + b"\0" * 30) == ALPHA


@given(st.integers(0, 200))
def test_a_cut_frame_is_refused(length: int) -> None:
    frame = seal(KEY, NONCE, ALPHA)
    assert (unseal(KEY, NONCE, frame[:length]) == ALPHA) is (length >= len(frame))


@given(st.integers(0, 200), st.integers(1, 255))
def test_a_flipped_byte_is_refused(at: int, flip: int) -> None:
    frame = bytearray(seal(KEY, NONCE, ALPHA))
    frame[at % len(frame)] ^= flip
    assert unseal(KEY, NONCE, bytes(frame)) is None


@given(st.binary(max_size=200))
@example(NONCE)
@example(NONCE + b"\xff\xff")
@example(NONCE + b"\0\0" + b"\0" * 60)
def test_any_bytes_are_refused_without_raising(payload: bytes) -> None:
    assert unseal(KEY, NONCE, payload) is None
    assert unseal(KEY, NONCE, NONCE + payload) is None


@pytest.mark.parametrize(
    "frame",
    [
        sealed(b""),
        sealed(b"not JSON"),
        sealed(b"\xff\xfe\xff"),
        sealed(b'"\xff"'),
        sealed(b"[" * MAX_BODY),
        sealed(b"[]"),
        sealed(b"7"),
        sealed(b"null"),
        sealed(b'"alpha"'),
        sealed(b"{}"),
        sealed(b'{"node":"alpha","netdev":"p0"}'),
        sealed(b"9" * 400),
        sealed(b"{}", length=400),
        said(node=None),
        said(node=["alpha"]),
        said(node={"a": 1}),
        said(node=""),
        said(node="a" * 64),
        said(node="alpha\n"),
        said(node="al pha"),
        said(node="../../etc"),
        said(node="\x1b[31malpha"),
        said(node="\ud800"),
        said(netdev=""),
        said(netdev="a" * 16),
        said(netdev="p0\x00"),
        said(netdev="p0\x1b"),
        said(netdev="p/0"),
        said(netdev="p 0"),
        said(netdev="\ud800"),
        said(netdev=5),
        said(mac=""),
        said(mac="02:00:00:00:00:0g"),
        said(mac="02:00:00:00:00:01:02"),
        said(mac="02:00:00:00:00:01\n"),
        said(mac=1.5),
    ],
)
def test_a_good_seal_around_nonsense_is_refused(frame: bytes) -> None:
    assert unseal(KEY, NONCE, frame) is None


def test_ten_kilobyte_names_are_refused_before_they_are_read() -> None:
    assert unseal(KEY, NONCE, said(node="a" * 10_000)) is None
    assert unseal(KEY, NONCE, said(more="a" * 10_000)) is None
    with pytest.raises(ValueError, match="body of"):
        seal(KEY, NONCE, Sender("a" * 10_000, "p0", ALPHA.mac))


def test_more_keys_than_needed_are_passed_over() -> None:
    assert unseal(KEY, NONCE, said(more=1)) == ALPHA


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,62}", fullmatch=True)


@given(
    NAMES, st.sampled_from(["p0", "enP2p1s0f1np1", "bond0.4000", "eth0:1", "größe"]), st.binary(min_size=6, max_size=6)
)
def test_every_sender_that_can_be_comes_back(node: str, netdev: str, mac: bytes) -> None:
    sender = Sender(node, netdev, mac.hex(":"))
    assert unseal(KEY, NONCE, seal(KEY, NONCE, sender)) == sender


@given(st.binary(max_size=MAX_BODY))
def test_any_body_with_a_good_seal_never_raises(body: bytes) -> None:
    found = unseal(KEY, NONCE, sealed(body))
    assert found is None or isinstance(found, Sender)


def test_a_nonce_of_another_length_is_no_nonce() -> None:
    with pytest.raises(ValueError, match="nonce of 3 bytes"):
        seal(KEY, b"abc", ALPHA)
    assert HEAD == 10
