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
    from fabricdoc.checks.judging import check_fabric, judged

HOMES = {
    "catalogue": ("Meaning", "load_catalogue"),
    "judging": ("check_fabric", "judged"),
}

__all__ = ["Meaning", "check_fabric", "judged", "load_catalogue"]


__getattr__ = opened(__name__, HOMES)
