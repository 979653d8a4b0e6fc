"""Every check in one tuple, and the one function that runs them all over a fabric."""

from __future__ import annotations

from collections.abc import Callable

from fabricdoc.checks.access import check_access
from fabricdoc.checks.between import BETWEEN
from fabricdoc.checks.cages import check_cages
from fabricdoc.checks.containers import check_containers
from fabricdoc.checks.counters import check_counters
from fabricdoc.checks.environment import check_environment
from fabricdoc.checks.firewall import check_firewall
from fabricdoc.checks.gid_choices import check_gid_choices
from fabricdoc.checks.gid_pins import check_gid_pins
from fabricdoc.checks.gids import check_gids
from fabricdoc.checks.gpudirect import check_gpudirect
from fabricdoc.checks.gpus import check_gpus
from fabricdoc.checks.hotplug import check_hotplug
from fabricdoc.checks.identity import check_identity
from fabricdoc.checks.interfaces import check_interfaces
from fabricdoc.checks.kernel_log import check_kernel_log
from fabricdoc.checks.libraries import check_libraries
from fabricdoc.checks.links import check_links
from fabricdoc.checks.memory import check_memory
from fabricdoc.checks.mtu import check_mtu
from fabricdoc.checks.pcie import check_pcie
from fabricdoc.checks.persistence import check_persistence
from fabricdoc.checks.port_mtu import check_port_mtu
from fabricdoc.checks.routing import check_routing
from fabricdoc.checks.selection import check_selection
from fabricdoc.checks.speeds import check_speeds
from fabricdoc.checks.subnets import check_subnets
from fabricdoc.checks.system import check_system
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

ON_ONE_NODE: tuple[Callable[[Fabric], tuple[Finding, ...]], ...] = (
    check_access,
    check_containers,
    check_links,
    check_speeds,
    check_port_mtu,
    check_cages,
    check_gids,
    check_gid_choices,
    check_gid_pins,
    check_selection,
    check_interfaces,
    check_environment,
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
)
"""What a node tells of itself; each is a single pass over the nodes."""

CHECKS = (*ON_ONE_NODE, check_mtu, check_identity, *BETWEEN)
ORDER = ("error", "warning", "info")


def check_fabric(fabric: Fabric) -> tuple[Finding, ...]:
    """Every finding about a fabric's nodes: errors first, then by id and subject."""
    found = [finding for check in CHECKS for finding in check(fabric)]
    return tuple(sorted(found, key=lambda one: (ORDER.index(one.severity), one.id, one.subject)))
