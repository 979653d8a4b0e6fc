"""`lsmod`: the loaded modules that matter to RDMA and GPUs. The list is whole: what is not in it is not loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line
from fabricdoc.dumps.told import Told

ROW = re.compile(r"(?P<name>\w{1,64})\s+\d+\s+\d+(?:\s|$)")
OURS = re.compile(
    r"nvidia|ib_|mlx[45]|rdma|irdma|bnxt|iw_|siw|efa|gdrdrv|nv_peer|erdma|hns|knem|xpmem|nvme_rdma|rpcrdma"
)


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """One fact: the names, sorted, where the list begins."""
    names = {match["name"] for _number, text in lines if (match := ROW.match(text))}
    kept = sorted(name for name in names if OURS.match(name))
    if kept or re.match(r"Module\s+Size", lines[0].text):
        yield Told(("host", "modules"), kept, lines[0].number)


FORMAT = Format(
    tool="lsmod",
    command=r"lsmod\b",
    file=r"lsmod",
    begins=r"Module\s+Size\s+Used by",
    goes_on=r"\w+\s+\d+\s+-?\d+(?:\s+[\w,.-]+)?\s*$",
    read=read,
)
