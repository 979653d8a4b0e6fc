"""LLDP frames for tests, as IEEE 802.1AB lays them out; and json0 as lldpcli prints it."""

from __future__ import annotations

import json
from typing import Any

GROUP = bytes.fromhex("0180c200000e")


def tlv(kind: int, value: bytes) -> bytes:
    """One TLV: 7 bits of type, 9 of length."""
    return (kind << 9 | len(value)).to_bytes(2, "big") + value


def lldpdu(
    *,
    chassis: bytes,
    port: bytes,
    ttl: int = 120,
    system: bytes = b"",
    description: bytes = b"",
    able: int = 0,
    enabled: int = 0,
) -> bytes:
    """A whole LLDPDU; ids begin with their subtype, empty texts and capabilities are left out."""
    parts = [tlv(1, chassis), tlv(2, port), tlv(3, ttl.to_bytes(2, "big"))]
    parts += [tlv(4, description)] if description else []
    parts += [tlv(5, system)] if system else []
    able |= enabled
    parts += [tlv(7, able.to_bytes(2, "big") + enabled.to_bytes(2, "big"))] if able else []
    return b"".join(parts) + b"\0\0"


def frame(source: bytes, payload: bytes) -> bytes:
    """An Ethernet frame to LLDP's first group, padded to 60 bytes."""
    return (GROUP + source + b"\x88\xcc" + payload).ljust(60, b"\0")


def json0(*entries: dict[str, Any]) -> str:
    """lldpcli's json0 of neighbours given as {"name", "chassis", "port", "system", "descr", "bridge"}."""
    return json.dumps({"lldp": [{"interface": [_entry(**one) for one in entries]}]})


def _entry(
    name: str, chassis: str, port: str, system: str = "", descr: str = "", bridge: bool | None = None
) -> dict[str, Any]:
    about: dict[str, Any] = {"id": [{"type": "mac", "value": chassis}]}
    about |= {"name": [{"value": system}]} if system else {}
    about |= {"capability": [{"type": "Bridge", "enabled": bridge}]} if bridge is not None else {}
    its_port: dict[str, Any] = {"id": [{"type": "mac", "value": port}]}
    its_port |= {"descr": [{"value": descr}]} if descr else {}
    return {"name": name, "via": "LLDP", "chassis": [about], "port": [its_port]}
