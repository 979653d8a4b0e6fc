"""What a container hides of a node's HCAs: its network, and GIDs that belong to other namespaces.

Device files and limits are `access`'s. A network namespace without a container is a lab's, and no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import hcas_of, roce_ports
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

REFUSED = ("EINVAL", "Invalid argument")


def check_containers(fabric: Fabric) -> tuple[Finding, ...]:
    """A network of the container's own, and GID tables with slots that can't be read."""
    return of_nodes(fabric, own_network, unreadable_gids)


def _inside(node: Node) -> bool:
    return isinstance(node.container.kind, str) and node.container.kind != "none"


def own_network(node: Node) -> Iterator[Finding]:
    """HCAs whose interfaces are all elsewhere, since the container has a network of its own."""
    active = [hca for hca in hcas_of(node) if any(port.state == "ACTIVE" for port in hca.ports)]
    if not _inside(node) or node.host.host_network is not False or not active or roce_ports(node):
        return
    kind = node.container.kind
    yield Finding(
        id="container-network-private",
        severity="error",
        subject=node.name,
        evidence=seen(
            node,
            f"container: {kind}, not in the host's network namespace",
            f"HCAs: {', '.join(hca.name for hca in active)}; none of their interfaces is here",
        ),
        cause="The container has a network of its own, so the HCAs' interfaces and their GIDs are out of its reach: "
        "RoCE connections can't be made from here, whatever devices are passed in.",
        fix=(
            "start the container with --network host --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1",
            "in Kubernetes: hostNetwork: true, or give the pod an interface of the HCA (macvlan, SR-IOV, host-device)",
        ),
    )


def unreadable_gids(node: Node) -> Iterator[Finding]:
    """Slots of a GID table whose type can't be read (EINVAL): NCCL before 2.26 fails at the first of them."""
    if not _inside(node):
        return
    for one in roce_ports(node):
        gids = () if isinstance(one.port.gids, Unknown) else one.port.gids
        refused = [gid for gid in gids if isinstance(gid.type, Unknown) and any(x in gid.type.unknown for x in REFUSED)]
        good = [gid.index for gid in gids if gid.type == "RoCE v2" and gid.ipv4]
        if refused and good:
            yield Finding(
                id="gid-scan-einval-container",
                severity="warning",
                subject=f"{node.name}/{one.hca.name}",
                evidence=seen(
                    node,
                    *(f"GID {gid.index} {gid.gid}: type can't be read" for gid in refused[:8]),
                    f"readable RoCE v2 IPv4 GIDs: {', '.join(str(index) for index in good[:8])}",
                ),
                cause="Some GIDs of this HCA belong to other network namespaces, and reading their type fails with "
                "EINVAL. NCCL from 2.21 to 2.25 ends with an error when it meets one; 2.26 and newer skip them.",
                fix=("use NCCL 2.26 or newer", f"or set NCCL_IB_GID_INDEX={good[0]} for ranks in this container"),
                confidence="likely",
            )
