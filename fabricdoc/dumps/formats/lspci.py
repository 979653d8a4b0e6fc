"""`lspci -vvv` (also -nn, -D, or grepped): PCIe speed and width, ACS, the driver, bridges with their buses.

Link lines without a device above them (as `grep ACSCtl` leaves them) are facts of no device: ("acs", LINE).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known, pci
from fabricdoc.dumps.told import Told

DEVICE = re.compile(
    r"(?P<address>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+(?P<what>[A-Za-z0-9][^:\[]*?)(?:\s*\[(?P<class>[0-9a-fA-F]{4})\])?:"
    r"\s+(?P<rest>.*)$"
)
IDS = re.compile(r"\[(?P<vendor>[0-9a-fA-F]{4}):(?P<device>[0-9a-fA-F]{4})\]")
NUMERIC = re.compile(r"(?P<vendor>[0-9a-fA-F]{4}):(?P<device>[0-9a-fA-F]{4})\b")
SPEED = re.compile(r"\bSpeed ([\d.]{1,6})GT/s")
WIDTH = re.compile(r"\bWidth x(\d{1,2})\b")
BUSES = re.compile(r"\s*Bus: primary=[0-9a-fA-F]{2}, secondary=([0-9a-fA-F]{2}), subordinate=([0-9a-fA-F]{2})")
GONE = re.compile(r"!!! Unknown header type 7f|\(rev ff\)")


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every device that has a line worth knowing."""
    address = ""
    for number, text in lines:
        if device := DEVICE.match(text):
            address = pci(device["address"]) or ""
            yield from _head(address, device, number)
        elif "ACSCtl:" in text:
            redirects = "ReqRedir+" in text or "CmpltRedir+" in text
            yield Told(("pcie", address, "acs") if address else ("acs", number), redirects, number)
        elif address:
            yield from _detail(address, text, number)


def _head(address: str, device: re.Match[str], number: int) -> Iterator[Told]:
    ids = IDS.search(device["rest"]) or (NUMERIC.match(device["rest"]) if len(device["what"]) == 4 else None)
    kind = device["class"] or (device["what"] if re.fullmatch(r"[0-9a-fA-F]{4}", device["what"]) else None)
    yield Told(("pcie", address, "address"), address, number)
    if ids:
        yield Told(("pcie", address, "vendor"), f"0x{ids['vendor'].lower()}", number)
        yield Told(("pcie", address, "device"), f"0x{ids['device'].lower()}", number)
    if kind:
        yield Told(("pcie", address, "pci_class"), f"0x{kind.lower()}00", number)
    if GONE.search(device["rest"]):
        yield Told(("pcie", address, "gone"), True, number)


def _detail(address: str, text: str, number: int) -> Iterator[Told]:
    stripped = text.strip()
    for word, which in (("LnkCap:", "max"), ("LnkSta:", "current")):
        if stripped.startswith(word):
            speed, width = SPEED.search(stripped), WIDTH.search(stripped)
            value = float(speed[1]) if speed and speed[1].count(".") < 2 and speed[1] != "." else None
            yield from known(("pcie", address, f"{which}_speed_gts"), value, number)
            yield from known(("pcie", address, f"{which}_width"), int(width[1]) if width else None, number)
    if match := re.match(r"NUMA node: (\d{1,4})", stripped):
        yield Told(("pcie", address, "numa_node"), int(match[1]), number)
    elif match := re.match(r"Kernel driver in use: (\S{1,64})", stripped):
        yield Told(("pcie", address, "driver"), match[1], number)
    elif match := BUSES.match(text):
        yield Told(("pcie", address, "buses"), [int(match[1], 16), int(match[2], 16)], number)
    elif GONE.search(stripped):
        yield Told(("pcie", address, "gone"), True, number)


FORMAT = Format(
    tool="lspci",
    command=r"lspci\b",
    file=r"lspci(?:[-_](?:acs|v+|nn))*",
    begins=r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\s+"
    r"(?:[A-Z][\w /&().-]*(?:\[[0-9a-fA-F]{4}\])?|[0-9a-fA-F]{4}):\s"
    r"|\s*(?:ACSCtl|ACSCap|LnkSta|LnkCap|LnkCtl):\s",
    goes_on=r"\s+\S",
    read=read,
)
