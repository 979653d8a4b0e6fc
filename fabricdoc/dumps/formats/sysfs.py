"""Files below /sys and /proc as `grep . FILES`, `grep -r` or `head` print them, path and value: HCAs, GIDs, counters.

A file that can't be read ("grep: ...: Invalid argument", as an empty GID slot answers) is no fact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, guid, known, mac, whole
from fabricdoc.dumps.formats.gid_text import gid_fields, gid_type
from fabricdoc.dumps.told import Told

LINE = re.compile(
    r"(?P<path>/(?:sys|proc)/[^\s:]{1,400}(?::[^\s:/]{1,64}/[^\s:]{1,300})*)\s*(?::|=)\s*(?P<value>.*?)\s*$"
)
WORD = re.compile(r"\d+:\s*(\S.*)$")
Reader = Callable[[re.Match[str], str, int], list[Told]]


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every line whose path is known."""
    for number, text in lines:
        match = LINE.match(text)
        if not match or len(match["value"]) > 300:
            continue
        for pattern, reader in PLACES:
            if found := pattern.fullmatch(match["path"]):
                yield from reader(found, match["value"], number)
                break


def _hca(found: re.Match[str], value: str, number: int) -> list[Told]:
    name, file = found[1], found[2]
    fields = {"fw_ver": "firmware", "board_id": "board_id", "hca_type": "hca_type"}
    if file in ("node_guid", "sys_image_guid"):
        return known(("hca", name, file), guid(value), number)
    return known(("hca", name, fields[file]), value, number) if file in fields else []


def _port(found: re.Match[str], value: str, number: int) -> list[Told]:
    path, file = ("port", found[1], int(found[2])), found[3]
    if file in ("state", "phys_state"):
        word = WORD.match(value)
        return known((*path, file), word[1] if word else value, number)
    if file == "rate":
        rate = re.match(r"(\d{1,5}(?:\.\d+)?) Gb/sec", value)
        return known((*path, "rate_gbps"), float(rate[1]) if rate else None, number)
    return known((*path, "link_layer"), value, number) if file == "link_layer" else []


def _gid(found: re.Match[str], value: str, number: int) -> list[Told]:
    fields = gid_fields(value) or {}
    path = ("gid", found[1], int(found[2]), int(found[3]))
    return [one for name, fact in fields.items() for one in known((*path, name), fact, number)]


def _gid_attribute(found: re.Match[str], value: str, number: int) -> list[Told]:
    path = ("gid", found[1], int(found[2]), int(found[4]))
    if found[3] == "types":
        return known((*path, "type"), gid_type(value), number)
    return known((*path, "netdev"), value, number)


def _counter(found: re.Match[str], value: str, number: int) -> list[Told]:
    source = "hw" if found[3] == "hw_counters" else "port"
    plain = value if re.fullmatch(r"\d{1,18}", value) else None
    return known(("counter", f"{found[1]}/{found[2]}", source, found[4]), whole(plain or ""), number)


def _net(found: re.Match[str], value: str, number: int) -> list[Told]:
    name, file = found[1], found[2]
    numbers = {"mtu": "mtu", "speed": "speed_mbps", "carrier_changes": "carrier_changes", "ifindex": "ifindex"}
    if file in numbers:
        amount = whole(value)
        return known(("netdev", name, numbers[file]), amount if amount is not None and amount > 0 else None, number)
    if file == "carrier":
        return known(("netdev", name, file), {"1": True, "0": False}.get(value), number)
    if file == "address":
        return known(("netdev", name, "mac"), mac(value), number)
    return known(("netdev", name, file), value, number) if file in ("operstate", "phys_port_name", "duplex") else []


def _sysctl(found: re.Match[str], value: str, number: int) -> list[Told]:
    from fabricdoc.dumps.formats.sysctl import setting

    return setting(found[1].replace("/", "."), value, number)


def _host(field: str) -> Reader:
    return lambda _found, value, number: known(("host", field), value, number)


_RDMA = r"/sys/class/infiniband/([\w.-]{1,64})"
PLACES: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(rf"{_RDMA}/ports/(\d{{1,3}})/gids/(\d{{1,5}})"), _gid),
    (re.compile(rf"{_RDMA}/ports/(\d{{1,3}})/gid_attrs/(types|ndevs)/(\d{{1,5}})"), _gid_attribute),
    (re.compile(rf"{_RDMA}/ports/(\d{{1,3}})/(counters|hw_counters)/([\w.-]{{1,64}})"), _counter),
    (re.compile(rf"{_RDMA}/ports/(\d{{1,3}})/(\w+)"), _port),
    (re.compile(rf"{_RDMA}/(\w+)"), _hca),
    (re.compile(r"/sys/class/net/([\w.@:-]{1,64})/(\w+)"), _net),
    (re.compile(r"/proc/sys/((?:net|kernel)/.+)"), _sysctl),
    (re.compile(r"/sys/class/dmi/id/product_name"), _host("product")),
    (re.compile(r"/sys/class/dmi/id/bios_version"), _host("bios")),
    (re.compile(r"/sys/module/nvidia/version"), _host("nvidia_driver")),
)

FORMAT = Format(
    tool="sysfs",
    command=r"(?:grep|egrep|head|cat|for|find)\b.*(?:/sys/class/|/proc/sys/)",
    file=r"sysfs|(?:hw[-_])?counters",
    begins=r"/(?:sys|proc/sys)/[^\s:]+(?::[^\s:/]+/[^\s:]+)*\s*(?::|=)|grep: /(?:sys|proc)/",
    goes_on=r"(?!)",
    read=read,
)
