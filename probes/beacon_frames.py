"""What a beacon says, sealed: the run's nonce, the sender's node, port and MAC, and an HMAC with the run's key.

One layout for every kind of frame: 8 bytes nonce, 2 bytes length, JSON, 32 bytes HMAC-SHA256, padded to 46 bytes (the
least that an Ethernet frame carries). The nonce stands first so that the kernel can drop what is of no concern here
(`beacon_filters`). Nothing in a frame is believed before its seal holds, and nothing unbounded after that either: a
node that has the key may still say anything.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import NamedTuple

NONCE_BYTES = 8
HEAD = NONCE_BYTES + 2
DIGEST_BYTES = 32
MIN_PAYLOAD = 46
MAX_BODY = 512
NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,62}", re.ASCII)
NETDEV = re.compile(r"[^\s/]{1,15}")  # IFNAMSIZ less its end; dev_valid_name of the kernel's net/core/dev.c
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)


class Sender(NamedTuple):
    """Who sent a frame, by its own word: node name, netdev, MAC ("02:00:00:00:00:01")."""

    node: str
    netdev: str
    mac: str


def seal(key: bytes, nonce: bytes, sender: Sender) -> bytes:
    """The payload of a frame from `sender`; `nonce` has 8 bytes. Raises ValueError for names too long to be one."""
    text = json.dumps(sender._asdict(), sort_keys=True, separators=(",", ":")).encode()
    if len(nonce) != NONCE_BYTES or len(text) > MAX_BODY:
        raise ValueError(f"a nonce of {len(nonce)} bytes, a body of {len(text)}")
    signed = nonce + len(text).to_bytes(2, "big") + text
    return (signed + _digest(key, signed)).ljust(MIN_PAYLOAD, b"\0")


def unseal(key: bytes, nonce: bytes, payload: bytes) -> Sender | None:
    """The sender of a frame of this run, or None: stray, of another run, cut, forged, or sealed but not well-formed."""
    length = int.from_bytes(payload[NONCE_BYTES:HEAD], "big")
    if payload[:NONCE_BYTES] != nonce or not 0 < length <= MAX_BODY or len(payload) < HEAD + length + DIGEST_BYTES:
        return None
    signed, digest = payload[: HEAD + length], payload[HEAD + length : HEAD + length + DIGEST_BYTES]
    return _read(signed[HEAD:]) if hmac.compare_digest(_digest(key, signed), digest) else None


def _digest(key: bytes, signed: bytes) -> bytes:
    return hmac.new(key, signed, hashlib.sha256).digest()


def _read(text: bytes) -> Sender | None:
    """The body as a sender whose every word is well-formed, else None."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    words = [word for name in Sender._fields if isinstance(word := body.get(name), str)]
    sender = Sender(*words) if len(words) == len(Sender._fields) else None
    return sender if sender and _is_well_formed(sender) else None


def _is_well_formed(sender: Sender) -> bool:
    named = NODE.fullmatch(sender.node) and NETDEV.fullmatch(sender.netdev) and sender.netdev.isprintable()
    return bool(named and MAC.fullmatch(sender.mac))
