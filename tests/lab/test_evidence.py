"""LLDP, datagrams and TCP on real interfaces: what they add to the map, and that none of them bends it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.lab

F0, F1 = "enp1s0f0np0", "enp1s0f1np1"


def specs_of(lab: Lab, ports: tuple[str, ...] | None = None) -> list[NodeSpec]:
    return [NodeSpec(name=one.name, target=one.target, ports=ports or one.ports) for one in lab.nodes]


def mapped(lab: Lab) -> Fabric:
    specs = specs_of(lab)
    return map_cables(specs, scan(specs, deadline_s=10))


def links(fabric: Fabric) -> Sequence[Link]:
    assert not isinstance(fabric.links, Unknown), fabric.links
    return fabric.links


def pairs(fabric: Fabric) -> list[tuple[str, str]]:
    return [(f"{one.a.node}/{one.a.netdev}", f"{one.b.node}/{one.b.netdev}") for one in links(fabric)]


def of_id(fabric: Fabric, id: str) -> list[Finding]:
    return [one for one in fabric.findings if one.id == id]


def test_a_healthy_pair_is_backed_by_pings_and_nothing_is_found(lab: Lab) -> None:
    fabric = mapped(lab)
    for one in links(fabric):
        (proof,) = one.more_proofs
        assert (proof.method, proof.frames_a_to_b, proof.frames_b_to_a) == ("ping", 2, 2)
        assert f"to beta {one.b.ip}: 56 and 8972 bytes arrived; to alpha {one.a.ip}: 56 and 8972 bytes arrived" in (
            proof.detail
        )
        assert "instead of" not in proof.detail
    assert [one for one in fabric.findings if one.severity != "info"] == []
    assert of_id(fabric, "reached-by-ping-only") == []
