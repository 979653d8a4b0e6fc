"""LL128: where NCCL's own table leaves it off, and whether a set of variables turned it on all the same.

LL128 relies on 128-byte stores that arrive whole. NCCL leaves it off where the path may split them, and its table
(TUNING, rank 0) then shows a bandwidth of 0.0; NCCL_PROTO overrides that, by name and by "^" lists (graph/tuning.cc).
Corrupted results are silent, so a candidate that turns it on against base's table is refused, whatever its speed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fabricdoc.model.run import Proof

_CELL = re.compile(r"([\d.]+)/\s*([\d.]+)")
_PROTOCOLS = 3
_LL128 = 1
FUNCTIONS: Mapping[str, str] = {
    "Broadcast": "broadcast",
    "Reduce": "reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "AllReduce": "all_reduce",
}


def ll128_in_row(cells: str) -> bool | None:
    """Whether a row of NCCL's table has LL128 on in any algorithm; None when the row is not whole.

    Cells are "µs/GBps" per algorithm, each with LL, LL128 and Simple. A bandwidth of 0.0 means off.
    """
    found = _CELL.findall(cells)
    if not found or len(found) % _PROTOCOLS:
        return None
    return any(float_of(bandwidth) > 0 for _, bandwidth in found[_LL128::_PROTOCOLS])


def float_of(text: str) -> float:
    """A number as NCCL prints it, 0.0 for anything else."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def ll128_forced(proof: Proof, base: Proof | None) -> str | None:
    """Why these launches must not count: LL128 on or used where base's own table has it off. None when it is not so.

    Where base left no table nothing is known, and nothing is said: variables that force it are refused before
    (`reject_unsafe`).
    """
    if base is None:
        return None
    off = [op for op, on in base.ll128.items() if not on]
    turned_on = [op for op in off if proof.ll128.get(op)]
    used = sorted({choice.op for choice in proof.choices if choice.protocol.upper() == "LL128" and choice.op in off})
    if not turned_on and not used:
        return None
    what = f"{', '.join(used)} ran with LL128" if used else f"LL128 is on for {', '.join(turned_on)}"
    return f"{what}, which NCCL itself leaves off on this path: it can corrupt data without a word"
