"""`ethtool IF`, `-i`, `-S`, `--show-fec`, `-a`, `-m`: speed and link, driver, counters, FEC, pause, cable.

-S and -i don't say of which interface they are: only the command or the file's name does, else their facts are of none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known, pci, whole
from fabricdoc.dumps.told import Told

NAMED = re.compile(
    r"\s*(?:Settings for|FEC parameters for|Pause parameters for|Coalesce parameters for) (?P<name>\S{1,64}?):\s*$"
)
KEY = re.compile(r"\s*(?P<key>[A-Za-z][\w /()-]*?)\s*:\s*(?P<value>.*?)\s*$")
COUNTER = re.compile(r"\s+(?P<name>[\w.:\[\] /-]{1,100}?):\s+(?P<value>\d{1,20})\s*$")
BARE_COUNTER = re.compile(r"\s+\w+_\w+:\s+\d+\s*$")
"""A line of -S that grep left without its heading."""
DRIVER_KEYS = {"driver", "version", "firmware-version", "expansion-rom-version", "bus-info"}
FEC = {"rs": "RS", "baser": "BaseR", "off": "Off", "llrs": "LLRS", "none": "Off"}
YES_NO = {"on": True, "off": False, "yes": True, "no": False}
MAX_COUNTER = (1 << 63) - 1


def read(lines: Sequence[Line], argument: str) -> Iterator[Told]:
    """Facts of every output; `argument` is the interface where no heading names it."""
    name, section = argument, "" if argument else "settings"
    for number, text in lines:
        if named := NAMED.match(text):
            name, section = named["name"], text.split()[0].lower()
            yield Told(("netdev", name, "name"), name, number)
        elif text.strip() == "NIC statistics:":
            section = "statistics"
        elif not name:
            continue
        elif section == "statistics" or (section == "" and BARE_COUNTER.match(text)):
            yield from _counter(name, text, number)
        elif match := KEY.match(text):
            reader = SECTIONS.get(section, _setting)
            yield from (_driver if match["key"] in DRIVER_KEYS else reader)(name, match["key"], match["value"], number)


def _setting(name: str, key: str, value: str, number: int) -> list[Told]:
    if key == "Speed":
        return known(("netdev", name, "speed_mbps"), whole(value.replace("Mb/s", " ")), number)
    if key == "Duplex":
        word = value.lower() if not value.startswith("Unknown") else None
        return known(("netdev", name, "duplex"), word, number)
    if key == "Auto-negotiation":
        return known(("netdev", name, "autoneg"), YES_NO.get(value), number)
    if key == "Lanes":
        return known(("netdev", name, "lanes"), whole(value), number)
    if key == "Link detected":
        return known(("netdev", name, "carrier"), YES_NO.get(value.split(" ")[0]), number)
    if key == "Port":
        return known(("netdev", name, "connector"), value, number)
    return _module(name, key, value, number)


def _module(name: str, key: str, value: str, number: int) -> list[Told]:
    """The cable or transceiver (-m)."""
    names = {"Vendor name": "cable_vendor", "Vendor PN": "cable_part"}
    return known(("netdev", name, names[key]), value, number) if key in names else []


def _driver(name: str, key: str, value: str, number: int) -> list[Told]:
    if key == "driver":
        return known(("netdev", name, "driver"), value, number)
    if key == "bus-info":
        return known(("netdev", name, "pci"), pci(value), number)
    if key == "firmware-version":
        return known(("netdev", name, "firmware"), value.split(" ")[0], number)
    return []


def _fec(name: str, key: str, value: str, number: int) -> list[Told]:
    """The active encoding; an interface without link has None."""
    if not key.startswith("Active FEC encoding"):
        return []
    return known(("netdev", name, "fec"), FEC.get(value.split(" ")[0].lower()), number)


def _pause(name: str, key: str, value: str, number: int) -> list[Told]:
    fields = {"RX": "pause_rx", "TX": "pause_tx"}
    on = YES_NO.get(value)
    return known(("qos", name, fields[key]), on, number) if key in fields and on is not None else []


def _counter(name: str, text: str, number: int) -> list[Told]:
    match = COUNTER.match(text)
    if not match or int(match["value"]) > MAX_COUNTER:
        return []
    return [Told(("counter", name, "ethtool", match["name"].strip()), int(match["value"]), number)]


SECTIONS: dict[str, Callable[[str, str, str, int], list[Told]]] = {
    "settings": _setting,
    "fec": _fec,
    "pause": _pause,
    "coalesce": lambda _name, _key, _value, _number: [],
}

FORMAT = Format(
    tool="ethtool",
    command=r"ethtool(?:\s+(?:-[A-Za-z]+|--[\w-]+))*(?:\s+(?P<arg>[A-Za-z][\w.@-]{0,63}))?",
    file=r"ethtool(?:[-_. ]+(?:i|S|a|m|stats?|fec|show[-_]fec|driver|module|pause)(?=$|[-_. ]))*",
    begins=r"(?:Settings|FEC parameters|Pause parameters|Coalesce parameters) for \S+:$|NIC statistics:$"
    r"|driver:\s+[\w-]+$",
    goes_on=r"\s+\S|(?:version|firmware-version|expansion-rom-version|bus-info|supports-[\w-]+):"
    r"|(?:Supported/)?(?:Configured|Active) FEC encodings?:|(?:Autonegotiate|RX|TX|RX negotiated|TX negotiated):\s"
    r"|Cannot get |netlink error",
    read=read,
)
