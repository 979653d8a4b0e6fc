"""`ibdev2netdev` and `-v` (mlnx-tools): which interface stands for which port.

Up means that the interface's operstate is up, Down that it is anything else; so Down gives way to what knows better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known, pci
from fabricdoc.dumps.told import Told

ROW = re.compile(
    r"\s*(?:(?P<pci>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s+)?(?P<hca>[\w-]{1,64})\s+(?P<about>.*?)"
    r"\bport\s+(?P<port>\d{1,3})\s+(?:\(\s*(?P<state>[A-Z_]+)\s*\)\s+)?==>\s+(?P<netdev>[\w.@-]{1,64})\s+\((?P<up>Up|Down)\)"
)


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every row."""
    for number, text in lines:
        match = ROW.match(text)
        if match:
            yield from _row(match, number)


def _row(match: re.Match[str], number: int) -> Iterator[Told]:
    hca, port, netdev, about = match["hca"], int(match["port"]), match["netdev"], match["about"]
    yield Told(("hca", hca, "name"), hca, number)
    yield Told(("port", hca, port, "netdev"), netdev, number)
    yield Told(("netdev", netdev, "name"), netdev, number)
    up = match["up"] == "Up"
    yield Told(("netdev", netdev, "operstate"), "up" if up else "down", number, weak=not up)
    yield from known(("netdev", netdev, "carrier"), up or None, number, weak=True)
    if match["pci"]:
        yield from known(("hca", hca, "pci"), pci(match["pci"]), number)
        yield from known(("netdev", netdev, "pci"), pci(match["pci"]), number)
    yield from known(("port", hca, port, "state"), match["state"], number)
    if kind := re.match(r"\((MT\d+)\b", about):
        yield Told(("hca", hca, "hca_type"), kind[1], number)
    if firmware := re.search(r"\bfw (\d+\.\d+\.\d+)\b", about):
        yield Told(("hca", hca, "firmware"), firmware[1], number)


FORMAT = Format(
    tool="ibdev2netdev",
    command=r"ibdev2netdev\b",
    file=r"ibdev2netdev",
    begins=r"\s*\S.*\bport\s+\d+\s+(?:\([^)]*\)\s+)?==>\s+\S+\s+\((?:Up|Down)\)",
    goes_on=r"(?!)",
    read=read,
)
