"""Checks: small pure functions from a fabric to findings, and the list of finding ids.

They read nothing but the document they are given, so a saved fabric is judged like a fresh one. A fact that is
unknown gives no finding. Severity: error where NCCL over RoCE can't work or goes astray, warning where speed or
some of its traffic is at stake or the fault is likely, info for what is good to know.
"""

from fabricdoc.checks.access import check_access
from fabricdoc.checks.catalogue import Meaning, load_catalogue
from fabricdoc.checks.gids import check_gids
from fabricdoc.checks.identity import check_identity
from fabricdoc.checks.mtu import check_mtu
from fabricdoc.checks.subnets import check_subnets
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

__all__ = ["Meaning", "check_fabric", "load_catalogue"]

CHECKS = (check_access, check_gids, check_mtu, check_subnets, check_identity)
ORDER = ("error", "warning", "info")


def check_fabric(fabric: Fabric) -> tuple[Finding, ...]:
    """Every finding about a fabric's nodes: errors first, then by id and subject."""
    found = [finding for check in CHECKS for finding in check(fabric)]
    return tuple(sorted(found, key=lambda one: (ORDER.index(one.severity), one.id, one.subject)))
