"""The node's system: kernels and drivers reported as bad on its platform, and a governor that keeps clocks low."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.checks.platforms import gb10_data, is_gb10
from fabricdoc.checks.ports import roce_ports
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

SLOW_GOVERNORS = frozenset({"powersave", "conservative"})
OWN_SCALING = "x86_64"
"""Intel's and AMD's own drivers scale well under "powersave" (intel_pstate, amd_pstate active mode)."""
IDS = {"kernel": "kernel-known-bad", "nvidia_driver": "driver-known-bad"}


def check_system(fabric: Fabric) -> tuple[Finding, ...]:
    """Kernels and drivers with a bad report, and slow governors."""
    return of_nodes(fabric, known_bad, slow_governor)


def known_bad(node: Node) -> Iterator[Finding]:
    """A kernel or driver that users of this platform reported as bad; never more than possible."""
    for row in gb10_data()["bad"] if is_gb10(node) else ():
        value = getattr(node.host, row["fact"])
        if isinstance(value, str) and re.match(row["pattern"], value):
            yield Finding(
                id=IDS[row["fact"]],
                severity="warning",
                subject=node.name,
                evidence=seen(node, f"{row['fact'].replace('_', ' ')} {value}"),
                cause=f"Users of this platform reported this version: {row['told']}. Kernel and driver are a pair "
                "here, and other pairs run well.",
                fix=(f"on {node.name}, and on every other node alike: {row['better']}",),
                confidence="possible",
            )


def slow_governor(node: Node) -> Iterator[Finding]:
    """A governor that keeps the CPU's clock low where NCCL stages by the CPU (no scaling driver of its own)."""
    governor = node.host.governor
    if isinstance(governor, Unknown) or not roce_ports(node) or node.host.arch == OWN_SCALING:
        return
    slow = sorted(SLOW_GOVERNORS & {one.strip() for one in governor.split(",")})
    if slow:
        yield Finding(
            id="cpu-governor-slow",
            severity="info",
            subject=node.name,
            evidence=seen(node, f"CPU frequency governor {governor}"),
            cause="NCCL's proxy thread moves every message, and this governor keeps its CPU at a low clock: small "
            "collectives take longer.",
            fix=(f"on {node.name}:", "sudo cpupower frequency-set -g performance"),
            confidence="possible",
        )
