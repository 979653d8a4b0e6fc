"""`lsmod`: the loaded modules that the probe watches too. The list is whole: what is not in it is not loaded.

WATCHED is that of probes/machine.py, which no reader may import; a test holds the two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line
from fabricdoc.dumps.told import Told

ROW = re.compile(r"(?P<name>\w{1,64})\s+\d+\s+\d+(?:\s|$)")
WATCHED = (
    "bnxt_re", "bonding", "efa", "gdrdrv", "ib_core", "ib_umad", "ib_uverbs", "ionic_rdma", "irdma", "mlx4_ib",
    "mlx5_core", "mlx5_ib", "nv_peer_mem", "nvidia", "nvidia_fs", "nvidia_peermem", "nvidia_uvm", "qedr", "rdma_cm",
    "rdma_rxe", "rdma_ucm", "siw",
)  # fmt: skip


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """One fact: the names, in the probe's order, where the list begins."""
    names = {match["name"] for _number, text in lines if (match := ROW.match(text))}
    kept = [name for name in WATCHED if name in names]
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
