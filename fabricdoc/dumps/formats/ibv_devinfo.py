"""`ibv_devinfo` and `ibv_devinfo -v` (rdma-core, libibverbs/examples/devinfo.c): HCAs, ports, GIDs.

Indentation is not needed: what is pasted into a forum often lost it. The many max_* attributes are passed over. A
Mellanox part is called as its driver does (sysfs hca_type): MT and the number, which is the same in both places
(drivers/infiniband/hw/mlx5/main.c: hca_type_show, mlx5_ib_query_device).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, guid, known, phys_state, whole
from fabricdoc.dumps.formats.gid_text import gid_fields, gid_type
from fabricdoc.dumps.told import Told

KEY = re.compile(r"\s*([A-Za-z_][\w ]*?)\s*:\s*(.*?)\s*$")
GID = re.compile(r"\s*GID\[\s*(\d{1,5})\]\s*:\s*([0-9a-fA-F:.]+)(?:,\s*(\S.*?))?\s*$")
WIDTHS = {"1": 1, "2": 4, "4": 8, "8": 12, "16": 2}
MELLANOX = "0x02c9"
PORT_KEYS = {"state", "max_mtu", "active_mtu", "link_layer", "phys_state", "active_width", "active_speed"}
NO_FIRMWARE = "0.0.0"
"""What libibverbs makes of a version of 0, which soft devices have; the kernel writes none."""
SOFT_VENDORS = {0xFFFFFF: "rdma_rxe"}
"""RXE_VENDOR_ID of drivers/infiniband/sw/rxe/rxe_param.h."""


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every device in the text."""
    device, port, width, vendor = "", 0, 0, ""
    for number, text in lines:
        match = KEY.match(text)
        if not device or port < 1:
            pass
        elif gid := GID.match(text):
            yield from _gid(device, port, gid, number)
            continue
        if not match:
            continue
        key, value = match[1], match[2]
        if key == "hca_id":
            device, port, width, vendor = value, 0, 0, ""
            yield Told(("hca", device, "name"), device, number)
        elif key == "port" and device:
            port, width = whole(value) or 0, 0
            yield from known(("port", device, port, "number"), port or None, number)
        elif key == "active_width":
            code = re.search(r"\((\d+)\)", value)
            width = WIDTHS.get(code[1], 0) if code else whole(value) or 0
        elif key == "active_speed" and device and port:
            speed = re.match(r"([\d.]+) Gbps", value)
            rate = round(float(speed[1]) * width, 3) if speed and width and speed[1].count(".") < 2 else None
            yield from known(("port", device, port, "rate_gbps"), rate, number)
        elif device and port == 0:
            vendor = value if key == "vendor_id" else vendor
            yield from _device(device, key, value, number, vendor)
        elif device:
            yield from _port(device, port, key, value, number)


def _device(device: str, key: str, value: str, number: int, vendor: str) -> list[Told]:
    if key == "vendor_part_id" and vendor == MELLANOX and re.fullmatch(r"\d{1,6}", value):
        return known(("hca", device, "hca_type"), f"MT{value}", number, weak=True)
    if key in ("node_guid", "sys_image_guid"):
        return known(("hca", device, key), guid(value), number)
    if key == "vendor_id" and re.fullmatch(r"0x[0-9a-fA-F]{1,8}", value):
        return known(("hca", device, "driver"), SOFT_VENDORS.get(int(value, 16)), number)
    names = {"fw_ver": "firmware", "board_id": "board_id"}
    return known(("hca", device, names[key]), value, number) if key in names and value != NO_FIRMWARE else []


def _port(device: str, port: int, key: str, value: str, number: int) -> list[Told]:
    """A port's line: words without their number in brackets, in the words of sysfs."""
    word = re.sub(r"\s*\(\d+\)$", "", value)
    path = ("port", device, port, key)
    if key == "state":
        return known(path, word.removeprefix("PORT_"), number)
    if key in ("max_mtu", "active_mtu"):
        return known(path, whole(word), number)
    if key == "gid_tbl_len":
        return known(("port", device, port, "gid_slots"), whole(word), number)
    if key == "phys_state":
        return known(path, phys_state(word), number)
    return known(path, word, number) if key == "link_layer" else []


def _gid(device: str, port: int, match: re.Match[str], number: int) -> Iterator[Told]:
    fields = gid_fields(match[2])
    if fields is None:
        return
    index = int(match[1])
    kind = gid_type(match[3] or "")
    for name, value in {**fields, "type": kind}.items():
        yield from known(("gid", device, port, index, name), value, number)


FORMAT = Format(
    tool="ibv_devinfo",
    command=r"ibv_devinfo\b",
    file=r"(?:ibv[-_]?)?devinfo",
    begins=r"\s*hca_id:\s*\S",
    goes_on=r"\s+\S|GID\[|[a-z][\w ]*:(?:\s|$)|[A-Z][A-Z0-9_]+\s*$|Unknown flags|NO SUPPORT\s*$"
    r"|[\w ]+ not supported\s*$",
    read=read,
)
