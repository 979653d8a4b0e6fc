"""`ip addr`, `ip link`, with or without -d, as text: interfaces, addresses; their JSON is read in `ip_json`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fabricdoc.dumps.formats.base import Format, Line, known, mac, whole
from fabricdoc.dumps.told import Told

HEAD = re.compile(
    r"\s*(?P<index>\d{1,9}):\s+(?P<name>[^\s:@]{1,64}(?::\d+)?)(?:@(?P<lower>[^\s:]{1,64}))?:\s+<(?P<flags>[A-Z0-9_,-]*)>\s*(?P<rest>.*)$"
)
INET = re.compile(
    r"\s*(inet6?)\s+(?P<ip>[0-9a-fA-F.:]+)(?:\s+peer\s+[0-9a-fA-F.:]+)?(?:/(?P<prefix>\d{1,3}))?(?P<rest>(?:\s.*)?)$"
)
LINK = re.compile(r"\s*link/(?P<type>\S+)(?:\s+(?P<mac>\S+))?(?P<rest>.*)$")
BRIEF = re.compile(
    r"(?P<name>[A-Za-z][\w.-]{0,63})(?:@(?P<lower>[\w.-]{1,64}))?\s+(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|TESTING)"
    r"(?P<rest>(?:\s.*)?)$"
)
KINDS = (
    "vlan",
    "bond",
    "team",
    "bridge",
    "veth",
    "macvlan",
    "ipvlan",
    "vxlan",
    "dummy",
    "tun",
    "ifb",
    "macvtap",
    "wireguard",
    "gre",
    "vrf",
)
KIND = re.compile(rf"\s+(?P<kind>{'|'.join(KINDS)})\b(?P<rest>.*)$")
DUPLEX_PAIRS = {"mtu": "mtu", "state": "operstate", "master": "master"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every interface; lines above the first one belong to none."""
    name = ""
    for number, text in lines:
        if head := HEAD.match(text):
            name = head["name"]
            yield from _head(head, number)
        elif brief := BRIEF.match(text):
            yield from _brief(brief, number)
        elif not name:
            continue
        elif inet := INET.match(text):
            yield from address_facts(
                name, inet["ip"], whole(inet["prefix"] or ""), _after(inet["rest"], "scope"), number
            )
        elif link := LINK.match(text):
            yield from known(("netdev", name, "mac"), mac(link["mac"] or ""), number)
            yield from _details(name, link["rest"], number)
        elif alt := re.match(r"\s+altname\s+(\S{1,127})", text):
            yield Told(("netdev", name, "altname", alt[1]), alt[1], number)
        elif kind := KIND.match(text):
            yield Told(("netdev", name, "kind"), kind["kind"], number)
            yield from _kind(name, kind["kind"], kind["rest"], number)
            yield from _details(name, kind["rest"], number)


def _head(head: re.Match[str], number: int) -> Iterator[Told]:
    name, rest = head["name"], head["rest"]
    yield from netdev_facts(name, int(head["index"]), head["flags"].split(","), number)
    yield from known(("netdev", name, "mtu"), whole(_after(rest, "mtu")), number)
    yield from known(("netdev", name, "operstate"), _after(rest, "state").lower(), number)
    yield from known(("netdev", name, "master"), _after(rest, "master"), number)
    if head["lower"] and head["lower"] != "NONE" and not re.fullmatch(r"if\d+", head["lower"]):
        yield Told(("netdev", name, "lower"), head["lower"], number)


def _brief(match: re.Match[str], number: int) -> Iterator[Told]:
    """A line of -br: addresses, or the MAC and flags."""
    name = match["name"]
    yield Told(("netdev", name, "name"), name, number)
    yield Told(("netdev", name, "operstate"), match["state"].lower(), number)
    if match["lower"] and not re.fullmatch(r"if\d+", match["lower"]):
        yield Told(("netdev", name, "lower"), match["lower"], number)
    for word in match["rest"].split():
        ip, slash, prefix = word.partition("/")
        if word.startswith("<"):
            yield from netdev_facts(name, None, word.strip("<>").split(","), number)
        elif slash:
            scope = "link" if ip.lower().startswith("fe80:") else "host" if ip in ("127.0.0.1", "::1") else "global"
            yield from address_facts(name, ip, whole(prefix), scope, number)
        else:
            yield from known(("netdev", name, "mac"), mac(word), number)


def netdev_facts(name: str, index: int | None, flags: Sequence[Any], number: int) -> Iterator[Told]:
    """That it is there, its index, and its carrier by its flags: LOWER_UP, NO-CARRIER.

    An interface that is not up has neither, and then its carrier is not told.
    """
    yield Told(("netdev", name, "name"), name, number)
    yield from known(("netdev", name, "ifindex"), index, number)
    if "LOWER_UP" in flags or "NO-CARRIER" in flags:
        yield Told(("netdev", name, "carrier"), "LOWER_UP" in flags, number)


def address_facts(netdev: str, ip: str, prefix: int | None, scope: str, number: int) -> Iterator[Told]:
    """One address where it is one; without a prefix it is that host alone."""
    try:
        version = ipaddress.ip_address(ip).version
    except ValueError:
        return
    most = 32 if version == 4 else 128
    length = most if prefix is None else prefix
    if 0 <= length <= most:
        yield Told(("address", netdev, f"{ip.lower()}/{length}"), scope or "global", number)


def _details(name: str, rest: str, number: int) -> Iterator[Told]:
    """What -d adds: the port's name by firmware, the device it sits on."""
    yield from known(("netdev", name, "phys_port_name"), _after(rest, "portname"), number)
    if _after(rest, "parentbus") == "pci":
        yield from known(("netdev", name, "pci"), _after(rest, "parentdev"), number)


def _kind(name: str, kind: str, rest: str, number: int) -> Iterator[Told]:
    if kind == "vlan":
        yield from known(("netdev", name, "vlan_id"), whole(_after(rest, "id")), number)
    if kind == "bond":
        yield from known(("netdev", name, "bond_mode"), _after(rest, "mode"), number)


def _after(text: str, word: str) -> str:
    """The word that follows `word`, or ""."""
    match = re.search(rf"(?:^|\s){word}\s+(\S+)", text)
    return match[1] if match else ""


FORMAT = Format(
    tool="ip",
    command=r"ip\s+(?:-(?:4|6|d|br|brief|details|s|statistics|c|color|o|h|j|p|json|pretty)\S*\s+)*(?:a|ad|add|addr|address|l|li|link)\b",
    file=r"ip(?:[-_. ]?(?:-d|-j))*[-_. ]?(?:a|addr|address|link)|ip|ifaddr",
    begins=r"\s*\d+:\s+\S+:\s+<[A-Z0-9_,-]*>\s+mtu\s"
    r"|[A-Za-z][\w.@-]*\s+(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN)\s+(?:[0-9a-fA-F.:]+/\d|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\s)",
    goes_on=r"\s+(?:link/|inet6?\s|valid_lft|altname|promiscuity|addrgenmode|numtxqueues|RX|TX|\d|bridge|vf\s+\d)"
    rf"|\s+(?:{'|'.join(KINDS)})\b|\s*inet6?\s|\s*link/|[A-Za-z][\w.@-]*\s+(?:UP|DOWN|UNKNOWN|LOWERLAYERDOWN)\s*$",
    read=read,
)
