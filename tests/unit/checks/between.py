"""What the tests of differences between nodes share: nodes made from changed facts, findings by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fabricdoc.checks import load_catalogue
from fabricdoc.checks.ports import netdevs_of
from fabricdoc.model.fabric import Fabric, Hca, Netdev, Node, Qos
from fabricdoc.model.findings import Finding
from tests.fabrics import hca, netdev, node
from tests.fabrics.altering import changed

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


def nodes_with(values: Iterable[Any], make: Callable[[str, Any], Node]) -> Fabric:
    """A fabric of nodes named alpha, beta, ... (n5, n6, ... after the fifth), one for each value."""
    listed = list(values)
    names = [NAMES[k] if k < len(NAMES) else f"n{k}" for k in range(len(listed))]
    return Fabric(nodes=tuple(make(name, value) for name, value in zip(names, listed, strict=True)))


def with_host(name: str, **facts: Any) -> Node:
    """A bare node whose host has these facts."""
    made = node(name)
    return made.model_copy(update={"host": made.host.model_copy(update=facts)})


def of_host(field: str, *values: Any, **same: Any) -> Fabric:
    """A fabric of bare nodes that differ in one field of their host."""
    return nodes_with(values, lambda name, value: with_host(name, **{field: value}, **same))


def roce(name: str, *, of: str, ip: str, **facts: Any) -> tuple[Netdev, Hca]:
    """An interface and the HCA on it; `facts` are split by the model that has the field."""
    interface = netdev(of, ip=ip)
    device = hca(name, of, ip=ip)
    port = device.ports[0]
    of_netdev = {key: value for key, value in facts.items() if key in Netdev.model_fields}
    of_port = {key: value for key, value in facts.items() if key in type(port).model_fields}
    of_hca = {key: value for key, value in facts.items() if key in Hca.model_fields}
    unused = set(facts) - set(of_netdev) - set(of_port) - set(of_hca)
    assert not unused, unused
    port = port.model_copy(update=of_port)
    return interface.model_copy(update=of_netdev), device.model_copy(update={"ports": (port,), **of_hca})


def roce_node(name: str, *ports: tuple[Netdev, Hca], **facts: Any) -> Node:
    """A node with those ports; `facts` are fields of the node, or of its host."""
    made = node(name, netdevs=[one for one, _hca in ports], hcas=[one for _netdev, one in ports])
    of_node = {key: value for key, value in facts.items() if key in Node.model_fields}
    of_host = {key: value for key, value in facts.items() if key not in Node.model_fields}
    return made.model_copy(update={"host": made.host.model_copy(update=of_host), **of_node})


def ids(findings: Iterable[Finding]) -> list[tuple[str, str, str]]:
    """(id, severity, subject) of each; every finding is whole and its id is in the catalogue."""
    found = list(findings)
    for one in found:
        assert one.id in load_catalogue(), one.id
        assert one.evidence, one.id
        assert all(piece.file and piece.text for piece in one.evidence), one.id
        assert one.cause.endswith("."), one.id
        assert one.fix, one.id
        assert len(one.evidence) <= 16, one.id
    return [(one.id, one.severity, one.subject) for one in found]


def with_qos(fabric: Fabric, node: str = "*", **facts: Any) -> Fabric:
    """The fabric with these QoS facts on every interface of a node ("*": of all) whose QoS was read."""
    for one in fabric.nodes:
        for port in netdevs_of(one):
            if node in ("*", one.name) and isinstance(port.qos, Qos):
                fabric = changed(fabric, one.name, "qos", port.name, **facts)
    return fabric
