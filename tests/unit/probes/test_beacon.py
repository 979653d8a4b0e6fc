"""Beacon frames: sealed with the run's key, refused when cut, forged or from another run."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import beacon

pytestmark = pytest.mark.unit

KEY = bytes(range(32))
BODY = {"nonce": "n", "node": "alpha", "netdev": "p0", "mac": "02:00:00:00:00:01"}


def ports(nonce: str = "n") -> beacon.Ports:
    return beacon.Ports("beta", nonce, KEY)


def test_a_sealed_frame_opens_with_the_same_key_only() -> None:
    assert beacon.unseal(KEY, beacon.seal(KEY, BODY)) == BODY
    assert beacon.unseal(bytes(32), beacon.seal(KEY, BODY)) is None


def test_short_frames_are_padded_to_the_ethernet_minimum() -> None:
    assert len(beacon.seal(KEY, {})) >= beacon.MIN_PAYLOAD


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_without_raising(payload: bytes) -> None:
    assert beacon.unseal(KEY, payload) is None


@given(st.integers(0, 100), st.integers(1, 255))
def test_a_flipped_byte_is_refused(at: int, flip: int) -> None:
    sealed = bytearray(beacon.seal(KEY, BODY))
    used = 2 + int.from_bytes(sealed[:2], "big") + 32
    sealed[at % used] ^= flip
    assert beacon.unseal(KEY, bytes(sealed)) is None


def test_frames_are_counted_by_sender_and_strays_apart() -> None:
    heard = ports()
    for _ in range(3):
        heard._believe("p1", beacon.seal(KEY, BODY))
    heard._believe("p1", beacon.seal(bytes(32), BODY))
    heard._believe("p1", b"\0" * 60)
    frame = {"netdev": "p1", "node": "alpha", "from_netdev": "p0", "from_mac": BODY["mac"], "count": 3}
    assert heard.report() == {"event": "heard", "frames": [frame], "stray": 2}


def test_a_frame_of_another_run_is_stray_although_the_key_fits() -> None:
    heard = ports(nonce="another")
    heard._believe("p1", beacon.seal(KEY, BODY))
    assert heard.report()["frames"] == []
    assert heard.stray == 1


def test_a_port_that_is_not_there_is_refused_with_the_kernels_word() -> None:
    reason = ports().open("no-such-port0")
    assert "errno" in reason
    if os.geteuid() == 0:
        assert "No such device" in reason
