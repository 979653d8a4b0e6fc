"""DGX Spark's hot-plug handler, which may power the ConnectX-7 off, and a card that is there in part only."""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.platforms import functions_of, gb10, is_gb10, pci_id
from fabricdoc.checks.ports import hcas_of
from fabricdoc.checks.wording import commands, of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

MARKER = "/etc/nvidia/cx7-hotplug-enabled"


def check_hotplug(fabric: Fabric) -> tuple[Finding, ...]:
    """Functions of the card that are missing, those without an RDMA device, and the armed handler."""
    return of_nodes(fabric, missing_functions, without_rdma, armed)


def missing_functions(node: Node) -> Iterator[Finding]:
    """GB10 with one to three of the card's four functions; none at all is only how an armed handler saves power."""
    if not is_gb10(node) or isinstance(node.pcie, Unknown):
        return
    there = _card(node)
    handled = node.host.hotplug_armed is True
    if len(there) >= gb10().functions or (not there and (handled or isinstance(node.host.hotplug_armed, Unknown))):
        return
    yield Finding(
        id="cx7-functions-missing",
        severity="error",
        subject=node.name,
        evidence=seen(node, f"{len(there)} of {gb10().functions} functions: {', '.join(there) or 'none'}"),
        cause="The ConnectX-7 shows only part of its functions: the hot-plug handler or a failed start took the others "
        "off the bus. Setting interfaces up does not bring them back.",
        fix=(
            "reboot all nodes of the fabric together",
            *commands(node, ["lspci", "-d", "15b3:"], ["sudo", "dmesg", "--level=err,warn"]),
        ),
    )


def _card(node: Node) -> list[str]:
    """Addresses of the ConnectX-7's functions on the bus, without VFs."""
    return [one.address for one in functions_of(node) if pci_id(one) == gb10().card and not one.physical_function]


def without_rdma(node: Node) -> Iterator[Finding]:
    """GB10 whose card is on the bus while fewer RDMA devices than functions exist."""
    if not is_gb10(node) or isinstance(node.hcas, Unknown) or node.container.kind != "none":
        return
    have = {hca.pci for hca in hcas_of(node)}
    if any(isinstance(one, Unknown) for one in have) or any(hca.bond for hca in hcas_of(node)):
        return
    bare = [address for address in _card(node) if address not in have]
    if bare:
        yield Finding(
            id="rdma-device-missing",
            severity="error",
            subject=node.name,
            evidence=seen(node, *(f"{one} has no RDMA device" for one in bare)),
            cause="A function of the ConnectX-7 is on the bus, but the kernel made no RDMA device for it: mlx5_ib "
            "is not loaded, or its start failed. NCCL can't use that function.",
            fix=commands(
                node, ["sudo", "modprobe", "mlx5_ib"], ["rdma", "link"], ["sudo", "dmesg", "--level=err,warn"]
            ),
        )


def armed(node: Node) -> Iterator[Finding]:
    """The armed handler: information, since it saves about 20 W and may take the card away."""
    if node.host.hotplug_armed is True and is_gb10(node):
        yield Finding(
            id="cx7-hotplug-armed",
            severity="info",
            subject=node.name,
            evidence=seen(node, f"{MARKER} exists"),
            cause="The hot-plug handler powers the ConnectX-7 off when it sees no link. After a reboot of one node the "
            "others may keep dead ports until they are rebooted too.",
            fix=(
                "reboot the nodes together; or disarm it, which costs about 20 W:",
                *commands(node, ["sudo", "rm", MARKER]),
            ),
        )
