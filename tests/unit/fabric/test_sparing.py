"""LLDP first: above 16 nodes a port behind a switch is silent unless it is listed; below, or unknown, it speaks."""

from __future__ import annotations

import pytest

from fabricdoc.checks import judged
from fabricdoc.fabric import cables
from fabricdoc.fabric.heard import Heard
from fabricdoc.fabric.sparing import lldp_first
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour
from fabricdoc.transport import NodeSpec
from tests.fabrics import hca, netdev, node

pytestmark = pytest.mark.unit

LEAF = LldpNeighbour(netdev="p0", chassis="0c:00:00:00:00:01", port="swp1", system="leaf1", bridge=True)


def fabric_of(count: int, *told: LldpNeighbour) -> Fabric:
    nodes = (
        node(
            f"n{i:02}",
            netdevs=[netdev(port, mac=f"02:00:00:00:{i:02x}:0{port[1]}") for port in ("p0", "p1")],
            hcas=[hca(f"mlx5_{port[1]}", port) for port in ("p0", "p1")],
        )
        for i in range(count)
    )
    return Fabric(nodes=tuple(one.model_copy(update={"lldp": told}) for one in nodes))


def specs_of(fabric: Fabric, *listed: str) -> list[NodeSpec]:
    return [NodeSpec(one.name, "local", ports=("p0", "p1") if one.name in listed else ()) for one in fabric.nodes]


def first(fabric: Fabric, *listed: str) -> tuple[Fabric, dict[str, tuple[str, ...]]]:
    return lldp_first(specs_of(fabric, *listed), fabric, {one.name: ("p0", "p1") for one in fabric.nodes})


def test_seventeen_nodes_behind_a_switch_are_spared() -> None:
    fabric, ports = first(fabric_of(17, LEAF))
    assert set(ports.values()) == {("p1",)}
    (finding,) = fabric.findings
    assert (finding.id, finding.severity, finding.subject) == ("beacons-left-out", "info", "17 ports of 17 nodes")
    assert finding.evidence[0].text == "p0 is behind the switch leaf1"
    assert finding.fix == ("to send them all the same, list the ports: --ports p0",)
    assert len(finding.evidence) == 8
    assert [one.id for one in judged(fabric).findings if one.id == "beacons-left-out"]


def test_sixteen_nodes_speak() -> None:
    fabric = fabric_of(16, LEAF)
    assert first(fabric) == (fabric, {one.name: ("p0", "p1") for one in fabric.nodes})


def test_a_listed_port_is_the_users_own_word() -> None:
    _, ports = first(fabric_of(17, LEAF), "n03")
    assert ports["n03"] == ("p0", "p1")
    assert ports["n04"] == ("p1",)


@pytest.mark.parametrize("told", [(), (LEAF.model_copy(update={"bridge": False}),)])
def test_without_a_switch_everybody_speaks(told: tuple[LldpNeighbour, ...]) -> None:
    fabric = fabric_of(17, *told)
    found, ports = first(fabric)
    assert found is fabric
    assert set(ports.values()) == {("p0", "p1")}


UNREACHED = cables.EVERY_KIND._replace(weak=())


def test_the_cables_job_asks_lldp_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, tuple[str, ...]]] = []
    monkeypatch.setattr(
        cables, "exchange", lambda _specs, ports: asked.append(ports) or Heard(refused={("x", "y"): "z"})
    )
    fabric = fabric_of(17, LEAF)
    cables.map_cables(specs_of(fabric), fabric, evidence=UNREACHED)
    assert set(asked[0].values()) == {("p1",)}


def test_nothing_left_to_send_from_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cables, "exchange", lambda *_words: pytest.fail("sent"))
    fabric = fabric_of(17, LEAF, LEAF.model_copy(update={"netdev": "p1"}))
    links = cables.map_cables(specs_of(fabric), fabric, evidence=UNREACHED).links
    assert isinstance(links, Unknown)
    assert links.unknown == "no beacon was sent: LLDP shows every port behind a switch"
