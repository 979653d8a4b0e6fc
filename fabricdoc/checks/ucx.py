"""UCX_NET_DEVICES held against the node: names of interfaces, or HCA:PORT, of which at least one must be there.

NIXL and TensorPipe use UCX beside NCCL. Its lists may exclude (^) and hold patterns (UCX, docs/source/faq.md): such
values are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabricdoc.checks.ports import hcas_of, netdevs_of
from fabricdoc.checks.variables import variable
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

VARIABLE = "UCX_NET_DEVICES"
SPECIAL = frozenset("^*?[]")


def check_ucx(fabric: Fabric) -> tuple[Finding, ...]:
    """Lists of devices none of which is on the node."""
    return of_nodes(fabric, nothing_named)


def nothing_named(node: Node) -> Iterator[Finding]:
    """A list of which no name is an interface or an HCA of this node."""
    hint = variable(node, VARIABLE)
    if hint is None or SPECIAL & set(hint.value) or isinstance(node.netdevs, Unknown) or isinstance(node.hcas, Unknown):
        return
    names = {one.strip() for one in hint.value.split(",")}
    here = [one.name for one in netdevs_of(node)]
    ports = [f"{hca.name}:{port.number}" for hca in hcas_of(node) for port in hca.ports]
    if "all" in names or names & {*here, *ports}:
        return
    yield Finding(
        id="ucx-devices-not-found",
        severity="warning",
        subject=f"{node.name}: {VARIABLE}",
        evidence=seen(
            node,
            hint.text(),
            f"interfaces: {', '.join(one for one in here[:16] if one != 'lo') or 'none'}",
            f"HCAs: {', '.join(ports[:16]) or 'none'}",
        ),
        cause=f"{VARIABLE} names no interface and no HCA:PORT of this node: UCX finds no transport, and what uses it "
        "(NIXL, TensorPipe) can't start. NCCL does not read it.",
        fix=(f"on {node.name}: export {VARIABLE}={(ports or here or ['NAME'])[0]}",),
        confidence="likely",
    )
