"""Whether a process on the node could use its HCAs: device files, libibverbs, locked memory.

All of it as the probe's own process saw it; libibverbs is the image's where fabric.toml names one that was read
(`served`). A server in another container may see less or more.
"""

from __future__ import annotations

import shlex

from fabricdoc.checks.ports import hcas_of, roce_ports
from fabricdoc.checks.served import software
from fabricdoc.checks.wording import seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import DeviceFile, Fabric, Node
from fabricdoc.model.findings import Evidence, Finding, Severity

MEMLOCK_NEEDED = 300_000_000
REFUSED = ("EPERM", "EACCES")
NOT_LOADED = "libibverbs.so.1 can't be loaded"


def check_access(fabric: Fabric) -> tuple[Finding, ...]:
    """Missing or closed device files, a missing libibverbs, a low locked-memory limit, on nodes that have HCAs."""
    checks = (missing_device_files, closed_device_files, missing_library, low_memlock)
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


def closed_device_files(node: Node) -> tuple[Finding, ...]:
    """Device files that are there and can't be opened: by a container's device cgroup (EPERM) or the mode (EACCES).

    In a container an error, since a server there has the same; on a host a warning: the server may be another user's.
    """
    files = node.host.uverbs
    if isinstance(files, Unknown) or not roce_ports(node):
        return ()
    refused = [one for one in files if one.access in REFUSED]
    if not refused:
        return ()
    inside = node.container.kind != "none"
    open_ones = len(files) - len(refused)
    return (
        Finding(
            id="container-rdma-device-not-accessible",
            severity="error" if inside else "warning",
            subject=node.name,
            evidence=(
                _hca_evidence(node),
                *seen(node, *(f"/dev/infiniband/{one.name}: {one.access}" for one in refused[:8])),
                *seen(node, f"{open_ones} of {len(files)} uverbs files can be opened"),
            ),
            cause="The device files of HCAs are here, but may not be opened: NCCL sees no device behind them and runs "
            f"over {'fewer HCAs' if open_ones else 'TCP'} without a warning.",
            fix=_how_to_open(node, refused[0], inside=inside),
        ),
    )


def _how_to_open(node: Node, refused: DeviceFile, *, inside: bool) -> tuple[str, ...]:
    if inside:
        return (
            "start the container with --device /dev/infiniband (a bind mount alone, -v, leaves the device cgroup shut)",
            "in Kubernetes: request the devices from an RDMA device plugin, or run the pod privileged",
        )
    return (
        f"on {node.name}:",
        f"ls -l {shlex.quote(f'/dev/infiniband/{refused.name}')}; rdma system",
        "EACCES: the kernel makes these files mode 0666; undo what changed that, or give the server's user their group",
        "EPERM: a unit's DeviceAllow, or RDMA devices of another network namespace (rdma system: netns exclusive)",
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
