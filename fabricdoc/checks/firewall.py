"""A host firewall on a node of a fabric. Whether a rule is in the way can't be told from here, so it stays a hint."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.checks.ports import roce_ports
from fabricdoc.checks.wording import commands, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding, Severity

DROPS = re.compile(r"policy drop in [a-z, ]*\binput\b|ufw is enabled")
"""The probe's words for a firewall that drops what comes in unless a rule lets it."""


def check_firewall(fabric: Fabric) -> tuple[Finding, ...]:
    """One finding per node with a firewall, where there is more than one node."""
    if len(fabric.nodes) < 2:
        return ()
    return tuple(finding for node in fabric.nodes for finding in firewall(node))


def firewall(node: Node) -> Iterator[Finding]:
    """A warning where what comes in is dropped by default, else information."""
    told, ports = node.host.firewall, list(dict.fromkeys(one.netdev.name for one in roce_ports(node)))
    if isinstance(told, Unknown) or told.startswith("none") or not ports:
        return
    drops = DROPS.search(told) is not None
    severity: Severity = "warning" if drops else "info"
    yield Finding(
        id="host-firewall",
        severity=severity,
        subject=node.name,
        evidence=seen(node, told),
        cause="A firewall filters what comes in. RoCE's data passes beside it (the NIC handles UDP 4791), but NCCL's "
        "bootstrap and the rendezvous use TCP ports it picks freely: RDMA tests pass and NCCL still hangs at start.",
        fix=(
            *commands(node, *(["sudo", "ufw", "allow", "in", "on", name] for name in ports[:8])),
            "or with nftables, accept what comes in on these interfaces and on the one of NCCL_SOCKET_IFNAME",
        ),
        confidence="possible",
    )
