"""`nvidia-smi topo -m`: how far each GPU is from each NIC, with the NICs by name where its legend tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line
from fabricdoc.dumps.told import Told

COLUMN = re.compile(r"(?:GPU|NIC|mlx|roce|bnxt|irdma|rdma)[\w.-]*$")
PATHS = re.compile(r"(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)$")
NIC = re.compile(r"\s*(?P<nic>NIC\d{1,4}):\s+(?P<name>[\w.-]{1,64})\s*$")
KNOWN = {"PIX", "PXB", "PHB", "NODE", "SYS"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts ("path", GPU, HCA) -> PIX ... SYS, and the HCAs of the legend."""
    names = {match["nic"]: (match["name"], number) for number, text in lines if (match := NIC.match(text))}
    columns: list[str] = []
    for number, text in lines:
        words = text.split()
        if not columns and words and COLUMN.match(words[0]) and not (len(words) > 1 and PATHS.match(words[1])):
            columns = [word for word in words if COLUMN.match(word)]
        elif columns and re.match(r"\s*GPU\d+\s", text):
            yield from _row(int(words[0][3:][:4]), dict(zip(columns, words[1:], strict=False)), names, number)
    for name, number in names.values():
        yield Told(("hca", name, "name"), name, number)


def _row(gpu: int, cells: dict[str, str], names: dict[str, tuple[str, int]], number: int) -> Iterator[Told]:
    for column, cell in cells.items():
        hca = names[column][0] if column in names else "" if re.match(r"(?:GPU|NIC)\d", column) else column
        if hca and cell in KNOWN:
            yield Told(("path", gpu, hca), cell, number)


FORMAT = Format(
    tool="nvidia-smi topo",
    command=r"nvidia-smi\s.*\btopo\b",
    file=r"(?:nvidia[-_]?smi[-_. ])?topo(?:[-_. ]m)?",
    begins=r"\s*GPU0\s+(?:GPU\d|NIC\d|CPU Affinity|mlx)|(?:GPU|NIC)\d+\s+(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)\s"
    r"|NIC Legend:",
    goes_on=r"\s*(?:Legend:|X\s+= |SYS\s+= |NODE\s+= |PHB\s+= |PXB\s+= |PIX\s+= |NV#\s+= |NIC\d+:\s)"
    r"|(?:mlx|roce|bnxt)\S*\s+(?:X|SYS|NODE|PHB|PXB|PIX)\s",
    read=read,
)
