"""Checks: small pure functions from a fabric to findings, and the list of finding ids.

They read nothing but the document they are given, so a saved fabric is judged like a fresh one. A fact that is
unknown gives no finding. Severity: error where NCCL over RoCE can't work or goes astray, warning where speed or
some of its traffic is at stake or the fault is likely, info for what is good to know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.checks.catalogue import Meaning, load_catalogue
    from fabricdoc.checks.gpudirect import gpus_of
    from fabricdoc.checks.judging import check_fabric, judged
    from fabricdoc.checks.limits import limit
    from fabricdoc.checks.platforms import is_gb10
    from fabricdoc.checks.rings import Ring, rings_of
    from fabricdoc.checks.segments import Segment, segments_of

HOMES = {
    "catalogue": ("Meaning", "load_catalogue"),
    "gpudirect": ("gpus_of",),
    "judging": ("check_fabric", "judged"),
    "limits": ("limit",),
    "platforms": ("is_gb10",),
    "rings": ("Ring", "rings_of"),
    "segments": ("Segment", "segments_of"),
}

__all__ = [
    "Meaning",
    "Ring",
    "Segment",
    "check_fabric",
    "gpus_of",
    "is_gb10",
    "judged",
    "limit",
    "load_catalogue",
    "rings_of",
    "segments_of",
]


__getattr__ = opened(__name__, HOMES)
