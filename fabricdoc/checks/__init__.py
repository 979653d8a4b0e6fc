"""Checks: small pure functions from a fabric to findings, and the list of finding ids.

They read nothing but the document they are given, so a saved fabric is judged like a fresh one. A fact that is
unknown gives no finding. Severity: error where NCCL over RoCE can't work or goes astray, warning where speed or
some of its traffic is at stake or the fault is likely, info for what is good to know.
"""

from fabricdoc.checks.access import check_access
from fabricdoc.checks.between import BETWEEN
from fabricdoc.checks.cages import check_cages
from fabricdoc.checks.catalogue import Meaning, load_catalogue
from fabricdoc.checks.containers import check_containers
from fabricdoc.checks.counters import check_counters
from fabricdoc.checks.firewall import check_firewall
from fabricdoc.checks.gids import check_gids
from fabricdoc.checks.gpudirect import check_gpudirect
from fabricdoc.checks.gpus import check_gpus
from fabricdoc.checks.hotplug import check_hotplug
from fabricdoc.checks.identity import check_identity
from fabricdoc.checks.kernel_log import check_kernel_log, kernel_signatures
from fabricdoc.checks.libraries import check_libraries
from fabricdoc.checks.links import check_links
from fabricdoc.checks.memory import check_memory
from fabricdoc.checks.mtu import check_mtu
from fabricdoc.checks.pcie import check_pcie
from fabricdoc.checks.persistence import check_persistence
from fabricdoc.checks.port_mtu import check_port_mtu
from fabricdoc.checks.routing import check_routing
from fabricdoc.checks.speeds import check_speeds
from fabricdoc.checks.subnets import check_subnets
from fabricdoc.checks.system import check_system
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

__all__ = ["Meaning", "check_fabric", "kernel_signatures", "load_catalogue"]

# One family a line. First what one node tells of itself, then what nodes are held against one another for.
CHECKS = (
    check_access,
    check_containers,
    check_links,
    check_speeds,
    check_port_mtu,
    check_cages,
    check_gids,
    check_subnets,
    check_routing,
    check_persistence,
    check_firewall,
    check_pcie,
    check_gpudirect,
    check_gpus,
    check_memory,
    check_hotplug,
    check_system,
    check_libraries,
    check_kernel_log,
    check_counters,
    check_mtu,
    check_identity,
    *BETWEEN,
)
ORDER = ("error", "warning", "info")


def check_fabric(fabric: Fabric) -> tuple[Finding, ...]:
    """Every finding about a fabric's nodes: errors first, then by id and subject."""
    found = [finding for check in CHECKS for finding in check(fabric)]
    return tuple(sorted(found, key=lambda one: (ORDER.index(one.severity), one.id, one.subject)))
