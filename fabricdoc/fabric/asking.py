"""The beginning of a scan: the probes start on the nodes while this machine still loads what reads their reports.

Imports nothing heavier than the transport, so that little stands before the first probe. Reads no report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabricdoc.errors import UsageError
from fabricdoc.fabric.signatures import kernel_signatures
from fabricdoc.transport import Asking, NodeSpec

SCAN_DEADLINE_S = 10.0
PROBE_SHARE = 0.7
MOST_WATCH_S = 600.0


def begin_scan(
    nodes: Sequence[NodeSpec],
    *,
    deadline_s: float = SCAN_DEADLINE_S,
    watch_s: float = 0.0,
    cuda: bool = True,
    hashed: bool = False,
) -> Asking:
    """Scan probes running on `nodes`, each with `deadline_s` seconds; hand them to `scan`, which ends them.

    The probe gets 70 % of the time, so that what it read in time still comes back. `watch_s` seconds (at most 600, 0
    for none) lie between two readings of the counters, and come on top of the deadline. Without `cuda` its attributes
    are left out; `hashed` also takes the SHA-256 of each libnccl. Raises UsageError for others.
    """
    if not 0.0 <= watch_s <= MOST_WATCH_S:
        raise UsageError(
            f"counters can be watched for 0 to {MOST_WATCH_S:g} s, not {watch_s:g} s", fix="name fewer seconds"
        )
    request = scan_request(deadline_s, cuda=cuda, hashed=hashed)
    if watch_s:
        request["watch_s"] = watch_s
    return Asking(nodes, "scan", request, deadline_s=deadline_s + watch_s)


def scan_request(deadline_s: float, *, cuda: bool = True, hashed: bool = False) -> dict[str, Any]:
    """What a scan probe is asked that has `deadline_s` seconds for its answer to be here."""
    request: dict[str, Any] = {
        "do": "scan",
        "deadline_s": round(deadline_s * PROBE_SHARE, 3),
        "kernel_signatures": list(kernel_signatures()),
    }
    if not cuda:
        request["cuda"] = False
    if hashed:
        request["hash"] = True
    return request
