"""The beginning of a scan: the probes start on the nodes while this machine still loads what reads their reports.

Imports the transport only, so that nothing heavy stands before the first probe. Reads no report.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.transport import Asking, NodeSpec

SCAN_DEADLINE_S = 10.0
PROBE_SHARE = 0.7


def begin_scan(nodes: Sequence[NodeSpec], *, deadline_s: float = SCAN_DEADLINE_S) -> Asking:
    """Scan probes running on `nodes`, each with `deadline_s` seconds; hand them to `scan`, which ends them.

    The probe gets 70 % of the time, so that what it read in time still comes back.
    """
    request = {"do": "scan", "deadline_s": round(deadline_s * PROBE_SHARE, 3)}
    return Asking(nodes, "scan", request, deadline_s=deadline_s)
