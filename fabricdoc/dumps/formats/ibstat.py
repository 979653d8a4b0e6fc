"""`ibstat` (infiniband-diags): CAs and ports. A dead port still says a rate: 40 on ConnectX-7."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, guid, known, whole
from fabricdoc.dumps.told import Told

CA = re.compile(r"\s*CA '(?P<name>[^']{1,64})'")
PORT = re.compile(r"\s*Port (?P<number>\d{1,3}):\s*$")
KEY = re.compile(r"\s*(?P<key>[A-Z][\w ]*?):\s*(?P<value>.*?)\s*$")
STATES = {"Active": "ACTIVE", "Down": "DOWN", "Initializing": "INIT", "Armed": "ARMED"}
GUIDS = {"Node GUID": "node_guid", "System image GUID": "sys_image_guid"}
TEXTS = {"CA type": "hca_type", "Firmware version": "firmware"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every CA."""
    name, port = "", 0
    for number, text in lines:
        if match := CA.match(text):
            name, port = match["name"], 0
            yield Told(("hca", name, "name"), name, number)
        elif not name:
            continue
        elif match := PORT.match(text):
            port = int(match["number"])
            yield Told(("port", name, port, "number"), port, number)
        elif match := KEY.match(text):
            yield from _line(name, port, match["key"], match["value"], number)


def _line(name: str, port: int, key: str, value: str, number: int) -> list[Told]:
    if port == 0:
        if key in GUIDS:
            return known(("hca", name, GUIDS[key]), guid(value), number)
        return known(("hca", name, TEXTS[key]), value, number) if key in TEXTS else []
    path = ("port", name, port)
    if key == "State":
        return known((*path, "state"), STATES.get(value, value.upper()), number)
    if key == "Physical state":
        return known((*path, "phys_state"), value, number)
    if key == "Rate":
        rate = whole(value)
        return known((*path, "rate_gbps"), None if rate is None else float(rate), number)
    return known((*path, "link_layer"), value, number) if key == "Link layer" else []


FORMAT = Format(
    tool="ibstat",
    command=r"ibstat\b",
    file=r"ibstat",
    begins=r"CA '[^']+'\s*$",
    goes_on=r"\s+[A-Z][\w ]*:"
    r"|\s*(?:CA type|Number of ports|Firmware version|Hardware version|Node GUID|System image GUID"
    r"|Port \d+|State|Physical state|Rate|Base lid|LMC|SM lid|Capability mask|Port GUID|Link layer):",
    read=read,
)
