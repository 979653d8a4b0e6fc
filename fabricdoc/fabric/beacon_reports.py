"""What beacon probes report, read into `Heard`: every word checked, since a node may say anything.

A port that was not asked for, a sender that is no port of this exchange, a number that is none: left out, never
believed, never an exception. Draws no conclusion beyond that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fabricdoc.fabric.heard import Heard, Hearing, Method, settled
from fabricdoc.model.fabric import PortKey

MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.ASCII)
LACKS = ("no-ipv6", "ipv6-off", "no-address", "member", "tentative", "duplicate")
MAX_REASON = 200
MAX_COUNT = 2**53
MAX_ROWS = 4096
# EPERM, EACCES, and EAFNOSUPPORT of a kernel without packet sockets: nothing that another port would get
BARRED = (1, 13, 97)


@dataclass
class Opened:
    """Which ports are open by which kind of frame, and what the others were told."""

    ports: Mapping[str, Collection[str]]
    macs: dict[tuple[PortKey, Method], str] = field(default_factory=dict)
    refusals: dict[tuple[PortKey, Method], tuple[str, int, str]] = field(default_factory=dict)

    def note(self, node: str, ready: Mapping[str, Any], method: Method) -> None:
        """Take a `ready` message."""
        for row in _rows(ready, "ports"):
            mac = row.get("mac")
            key = ((node, str(row.get("netdev"))), method)
            if key[0][1] in self.ports[node] and isinstance(mac, str) and (MAC.fullmatch(mac) or not mac):
                self.macs[key] = mac
                self.refusals.pop(key, None)
        for row in _rows(ready, "refused"):
            key = ((node, str(row.get("netdev"))), method)
            if key[0][1] in self.ports[node] and key not in self.macs:
                lack = row.get("lack")
                reason = (_line(row.get("reason")), _count(row, "errno"), lack if lack in LACKS else "")
                self.refusals[key] = reason

    def barred(self) -> list[str]:
        """The nodes that may not open a raw socket on some port."""
        found = [
            node for ((node, _), method), told in self.refusals.items() if method == "beacon" and told[1] in BARRED
        ]
        return list(dict.fromkeys(found))

    def tell(self, heard: Heard) -> None:
        """Fill `heard.macs`, `methods`, `refused` and `lacks`."""
        for (port, method), mac in sorted(self.macs.items()):
            heard.macs.setdefault(port, mac)
            if method == "multicast" and (port, "beacon") not in self.macs:
                heard.methods[port] = "multicast"
        for (port, method), (reason, _number, lack) in self.refusals.items():
            if port not in heard.macs:
                told = f"multicast: {reason}" if method == "multicast" else reason
                heard.refused[port] = f"{heard.refused[port]}; {told}" if port in heard.refused else told
                if lack:
                    heard.lacks[port] = lack


def read_heard(heard: Heard, reports: Mapping[str, list[Mapping[str, Any]]], known: Collection[PortKey]) -> int:
    """Fill `heard` with the reports of all nodes (each may have several); the frames that came too fast to be read.

    What an earlier reading filled in is replaced: probes count from their start.
    """
    heard.strays, heard.echoes, heard.unkept = {}, {}, {}
    hearings: list[Hearing] = []
    full: set[tuple[PortKey, Method]] = set()
    lost = 0
    for port, method, row in _ports(reports, known):
        hearings += _hearings(port, method, row, known, heard.strays)
        for name, counts in (("stray", heard.strays), ("echoes", heard.echoes), ("unkept", heard.unkept)):
            if _count(row, name):
                counts[port] = counts.get(port, 0) + _count(row, name)
        if _count(row, "unkept"):
            full.add((port, method))
        lost += _count(row, "lost")
    heard.hearings = settled(hearings, full)
    heard.stray = sum(heard.strays.values())
    return lost


def _ports(
    reports: Mapping[str, list[Mapping[str, Any]]], known: Collection[PortKey]
) -> Iterator[tuple[PortKey, Method, Mapping[str, Any]]]:
    """Each port of each report once by each kind of frame; others are left out."""
    for node, told in reports.items():
        seen = set()
        for row in (row for report in told for row in _rows(report, "ports")):
            method = row.get("method")
            key = ((node, str(row.get("netdev"))), method)
            if key[0] in known and method in ("beacon", "multicast") and key not in seen:
                seen.add(key)
                yield key[0], "multicast" if method == "multicast" else "beacon", row


def _hearings(
    port: PortKey, method: Method, row: Mapping[str, Any], known: Collection[PortKey], strays: dict[PortKey, int]
) -> list[Hearing]:
    """What one port heard of ports that take part; frames of others (a sealed lie) count as strays."""
    found: dict[PortKey, Hearing] = {}
    for said in _rows(row, "senders"):
        sender = (str(said.get("node")), str(said.get("netdev")))
        count, near = _count(said, "count"), _count(said, "near")
        if sender not in known:
            strays[port] = strays.get(port, 0) + count + near
        elif count + near:
            before = found.get(sender, Hearing(port, sender, 0, method, 0))
            found[sender] = Hearing(port, sender, before.count + count, method, (before.near or 0) + near)
    return list(found.values())


def _rows(message: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = message.get(name)
    return [row for row in value[:MAX_ROWS] if isinstance(row, dict)] if isinstance(value, list) else []


def _count(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return value if type(value) is int and 0 <= value <= MAX_COUNT else 0


def _line(value: object) -> str:
    text = "".join(char if char.isprintable() else "?" for char in str(value)[:MAX_REASON])
    return text or "no reason given"
