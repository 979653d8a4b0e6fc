"""Whether a process on the node could use its HCAs: device files, libibverbs, locked memory.

All of it as the probe's own process saw it; libibverbs is the image's where fabric.toml names one that was read
(`served`). A server in another container may see less or more.
"""

from __future__ import annotations

from fabricdoc.checks.ports import hcas_of, roce_ports
from fabricdoc.checks.served import software
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding, Severity

MEMLOCK_NEEDED = 300_000_000
NOT_LOADED = "libibverbs.so.1 can't be loaded"


def check_access(fabric: Fabric) -> tuple[Finding, ...]:
    """Missing device files, a missing libibverbs, and a low locked-memory limit, on nodes that have HCAs."""
    checks = (missing_device_files, missing_library, low_memlock)
    return tuple(finding for node in fabric.nodes for check in checks for finding in check(node))


def missing_device_files(node: Node) -> tuple[Finding, ...]:
    """HCAs in the kernel but no uverbs device file: in a container not passed in, on a host not made.

    An error where an HCA's interface is here (NCCL would silently use TCP); only info where the interfaces are
    in another network namespace too, since then RDMA may not be meant to work from here.
    """
    devices = node.host.infiniband_devices
    if not hcas_of(node) or isinstance(devices, Unknown) or any(name.startswith("uverbs") for name in devices):
        return ()
    severity: Severity = "error" if roce_ports(node) else "info"
    listed = ", ".join(devices) or "nothing"
    evidence = (_hca_evidence(node), Evidence(file=node.name, text=f"/dev/infiniband: {listed}"))
    on_host = node.container.kind == "none"
    finding = _no_uverbs(node, evidence, severity) if on_host else _no_device(node, evidence, severity)
    return (finding,)


def _no_device(node: Node, evidence: tuple[Evidence, ...], severity: Severity) -> Finding:
    return Finding(
        id="container-rdma-device-missing",
        severity=severity,
        subject=node.name,
        evidence=evidence,
        cause="The kernel has HCAs, but their device files are not in this container: NCCL finds no device and falls "
        "back to TCP without a warning.",
        fix=(
            "start the container with --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1 (host "
            "networking alone does not bring the devices in)",
            "in Kubernetes: request the devices from an RDMA device plugin",
        ),
        confidence="likely" if isinstance(node.container.kind, Unknown) else "certain",
    )


def _no_uverbs(node: Node, evidence: tuple[Evidence, ...], severity: Severity) -> Finding:
    return Finding(
        id="uverbs-missing",
        severity=severity,
        subject=node.name,
        evidence=evidence,
        cause="The kernel has HCAs, but no uverbs device file was made: programs can't reach them and NCCL uses TCP.",
        fix=(f"on {node.name}:", "sudo modprobe ib_uverbs", "and install rdma-core so that it is loaded at boot"),
    )


def missing_library(node: Node) -> tuple[Finding, ...]:
    """HCAs that can be used from here, but no libibverbs: an error in the server's image, else a warning."""
    place = software(node)
    library = place.node.host.libibverbs
    if not roce_ports(node) or not isinstance(library, Unknown) or not library.unknown.startswith(NOT_LOADED):
        return ()
    packages = "libibverbs1 and ibverbs-providers (rdma-core)"
    also = "" if place.image else ", in the server's image too"
    return (
        Finding(
            id="libibverbs-missing",
            severity="error" if place.image else "warning",
            subject=node.name,
            evidence=(_hca_evidence(node), *place.seen(library.unknown)),
            cause="NCCL loads libibverbs at start; a server started "
            f"{'from this image' if place.image else 'here without it'} would run over TCP.",
            fix=(f"{place.where}: install {packages}{also}",),
        ),
    )


def low_memlock(node: Node) -> tuple[Finding, ...]:
    """A locked-memory limit below what NCCL registers for one peer, about 0.3 GB with 16 channels.

    A warning: the server may be started with a limit of its own. -1 is no limit.
    """
    limit = node.host.memlock
    if not roce_ports(node) or isinstance(limit, Unknown) or limit < 0 or limit >= MEMLOCK_NEEDED:
        return ()
    return (
        Finding(
            id="memlock-limit-too-low",
            severity="warning",
            subject=node.name,
            evidence=(_hca_evidence(node), Evidence(file=node.name, text=f"locked memory limit {limit} bytes")),
            cause=f"RDMA memory must be locked, and a process started here may lock {limit} bytes: NCCL registers "
            "about 0.3 GB for each peer, so registration fails with 'Cannot allocate memory'.",
            fix=(
                "in Docker: --ulimit memlock=-1 --cap-add IPC_LOCK",
                f"on {node.name}: memlock unlimited in /etc/security/limits.d, LimitMEMLOCK=infinity in a systemd unit",
            ),
        ),
    )


def _hca_evidence(node: Node) -> Evidence:
    return Evidence(file=node.name, text=f"/sys/class/infiniband: {', '.join(hca.name for hca in hcas_of(node))}")
