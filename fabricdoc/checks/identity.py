"""Nodes that look like one another: the same address, hostname, boot id, machine id, or the very same node.

Facts only as the nodes tell them; nothing is asked of the network (no ARP probe).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator

from fabricdoc.checks.differences import SHOWN, named
from fabricdoc.checks.ports import fabric_netdevs, netdevs_of
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding

Known = dict[str, int]
"""Names that lead to a node listed before under another one, by the number of that node."""


def check_identity(fabric: Fabric) -> tuple[Finding, ...]:
    """Every way nodes can be taken for one another; where a node is listed twice, nothing else is said of the pair."""
    twice = same_nodes(fabric)
    known = {node.name: number for number, group in enumerate(twice) for node in group}
    return (
        *(_twice(group) for group in twice),
        *duplicate_addresses(fabric, known),
        *(_one_host(group) for group in groups(fabric, _host_key) if not _is_known(group, known)),
        *(_one_name(group) for group in groups(fabric, _hostname) if len(set(map(_boot_id, group))) == len(group)),
        *(_one_image(group) for group in groups(fabric, _machine_id) if len(set(map(_boot_id, group))) == len(group)),
    )


def groups(fabric: Fabric, key: Callable[[Node], Hashable | None]) -> Iterator[list[Node]]:
    """Nodes with an equal key, two or more at a time; a key of None belongs to no group."""
    found: dict[Hashable, list[Node]] = defaultdict(list)
    for node in fabric.nodes:
        value = key(node)
        if value is not None:
            found[value].append(node)
    return (group for group in found.values() if len(group) > 1)


def same_nodes(fabric: Fabric) -> list[list[Node]]:
    """Names that lead to one machine and network namespace: equal boot id and equal interfaces with their MACs."""
    return list(groups(fabric, _namespace_key))


def _namespace_key(node: Node) -> Hashable | None:
    outer = (one for one in netdevs_of(node) if isinstance(one.mac, str) and one.name != "lo")
    macs = frozenset((one.ifindex, one.mac) for one in outer)
    boot_id = _boot_id(node)
    return (boot_id, macs) if macs and boot_id else None


def _boot_id(node: Node) -> str | None:
    return None if isinstance(node.host.boot_id, Unknown) else node.host.boot_id


def _hostname(node: Node) -> str | None:
    return None if isinstance(node.host.hostname, Unknown) else node.host.hostname


def _machine_id(node: Node) -> str | None:
    return None if isinstance(node.host.machine_id, Unknown) else node.host.machine_id


def _host_key(node: Node) -> Hashable | None:
    """What NCCL tells hosts apart by: NCCL_HOSTID where set, else hostname plus boot id."""
    own = node.host.environment.get("NCCL_HOSTID")
    name, boot_id = _hostname(node), _boot_id(node)
    return own or ((name, boot_id) if name and boot_id else None)


def _is_known(group: list[Node], known: Known) -> bool:
    """Whether all of them are one node under several names."""
    machines = {known.get(node.name) for node in group}
    return len(machines) == 1 and None not in machines


def duplicate_addresses(fabric: Fabric, known: Known) -> Iterator[Finding]:
    """One error (duplicate-address) per address that fabric ports of two nodes use at once (not fe80, not 169.254)."""
    users: dict[str, list[tuple[Node, str]]] = defaultdict(list)
    for node in fabric.nodes:
        for netdev in fabric_netdevs(node):
            for address in netdev.addresses:
                if address.scope == "global" and not address.ip.startswith(("169.254.", "fe80:")):
                    users[address.ip].append((node, netdev.name))
    for ip, found in users.items():
        nodes = list({node.name: node for node, _netdev in found}.values())
        if len(nodes) > 1 and not _is_known(nodes, known):
            yield _duplicate(ip, found)


def _duplicate(ip: str, found: list[tuple[Node, str]]) -> Finding:
    (_first, _netdev), *others = found
    return Finding(
        id="duplicate-address",
        severity="error",
        subject=ip,
        evidence=tuple(Evidence(file=node.name, text=f"{netdev} {ip}") for node, netdev in found[:SHOWN]),
        cause="Nodes of one fabric are told apart by address: with this one used twice, connections reach whichever "
        "node answers first, or the caller itself.",
        fix=(
            *(f"give {netdev} on {node.name} another address" for node, netdev in others[:SHOWN]),
            *_and_more([node for node, _netdev in others]),
        ),
        confidence="likely",
    )


def _and_more(nodes: list[Node]) -> tuple[str, ...]:
    """Whom the lines before did not name."""
    rest = [node.name for node in nodes[SHOWN:]]
    return (f"the same on {named(rest, SHOWN)}",) if rest else ()


def _group_finding(id: str, group: list[Node], text: Callable[[Node], str], cause: str, *fix: str) -> Finding:
    names = named([node.name for node in group], SHOWN)
    evidence = tuple(Evidence(file=node.name, text=text(node)) for node in group[:SHOWN])
    return Finding(id=id, severity="info", subject=names, evidence=evidence, cause=cause, fix=fix)


def _twice(group: list[Node]) -> Finding:
    finding = _group_finding(
        "same-node-twice",
        group,
        lambda node: f"{node.target}: boot id {_boot_id(node)}, the same interfaces with the same MACs",
        "These names lead to one machine and network namespace: there is no link between them to look at or measure.",
        "name each node once, with targets that lead to different machines",
    )
    return finding.model_copy(update={"severity": "warning"})


def _one_host(group: list[Node]) -> Finding:
    return _group_finding(
        "host-identity-collision",
        group,
        lambda node: f"hostname {_hostname(node)}, boot id {_boot_id(node)}",
        "These nodes are namespaces or containers of one machine, and NCCL tells hosts apart by hostname plus boot id: "
        "ranks on them would talk over shared memory or peer access, not over the network.",
        "set NCCL_HOSTID to a different value on each of them when the network is what should be used",
    )


def _one_name(group: list[Node]) -> Finding:
    return _group_finding(
        "hostname-shared",
        group,
        lambda node: f"hostname {_hostname(node)}, boot id {_boot_id(node)}",
        "Different machines have one hostname: NCCL is not confused (it adds the boot id); Ray, MPI, mDNS and "
        "known_hosts are.",
        *(f"on {node.name}: hostnamectl set-hostname a name of its own" for node in group[1 : SHOWN + 1]),
        *_and_more(group[1:]),
    )


def _one_image(group: list[Node]) -> Finding:
    return _group_finding(
        "machine-id-shared",
        group,
        lambda node: f"machine-id {_machine_id(node)}, boot id {_boot_id(node)}",
        "Different machines have one machine-id, as after cloning an image: DHCP and mDNS may take one for the other.",
        *(
            f"on {node.name}: rm /etc/machine-id, systemd-machine-id-setup, then reboot"
            for node in group[1 : SHOWN + 1]
        ),
        *_and_more(group[1:]),
    )
