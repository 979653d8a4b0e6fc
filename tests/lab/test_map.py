"""The map of real interfaces: how links lie, which lists follow, and graphs on stdout that strict readers take."""

from __future__ import annotations

import pytest

from fabricdoc.cli.program import main
from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from tests.unit.report.graph_grammar import read_dot, read_mermaid

pytestmark = pytest.mark.lab


def mapped(lab: Lab) -> Fabric:
    specs = [NodeSpec(name=n.name, target=n.target, ports=n.ports) for n in lab.nodes]
    return map_cables(specs, scan(specs, deadline_s=20))


def traits(fabric: Fabric) -> set[tuple[str, ...]]:
    assert not isinstance(fabric.links, Unknown), fabric.links
    return {link.traits for link in fabric.links}


def test_crossed_rails_give_each_node_its_own_names(lab: Lab) -> None:
    fabric = mapped(lab)
    assert traits(fabric) == {("crossed",)}
    assert fabric.selectors is not None
    lists = {one.node: one.sets[-1].variables["NCCL_SOCKET_IFNAME"] for one in fabric.selectors.nodes}
    assert lists == {"alpha": "=enp1s0f0np0,enp1s0f1np1", "beta": "=enp1s0f1np1,enp1s0f0np0"}
    address = next(a.ip for one in fabric.nodes[0].netdevs if one.name == "enp1s0f0np0" for a in one.addresses)  # type: ignore[union-attr]
    assert fabric.selectors.master == address


def test_straight_rails_give_one_list() -> None:
    with open_lab(LabSpec(cabling="straight")) as lab:
        fabric = mapped(lab)
        assert traits(fabric) == {("straight",)}
        assert fabric.selectors is not None
        assert len({str(one.sets) for one in fabric.selectors.nodes}) == 1


def test_three_nodes_in_a_ring_are_told_as_one() -> None:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as lab:
        fabric = mapped(lab)
        assert all("ring" in found for found in traits(fabric))
        assert fabric.selectors is not None
        assert [len(one.sets[-1].netdevs) for one in fabric.selectors.nodes] == [2, 2, 2]
        assert fabric.selectors.rails == ()


@pytest.mark.parametrize("form", ["dot", "mermaid"])
def test_a_graph_is_all_that_stands_on_stdout(lab: Lab, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ",".join(f"{one.name}={one.target}" for one in lab.nodes)
    ports = ",".join(lab.nodes[0].ports)
    assert main(["cables", "--nodes", nodes, "--ports", ports, "--format", form]) == 0
    text = capsys.readouterr().out
    read = read_dot(text) if form == "dot" else read_mermaid(text)
    assert read.clusters == ["alpha", "beta"]
    assert [label for *_ends, label in read.edges] == ["cable, crossed"] * 2


def test_without_a_map_there_is_no_graph_and_the_status_says_so(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ",".join(f"{one.name}={one.target}" for one in lab.nodes)
    assert main(["cables", "--nodes", nodes, "--format", "dot"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "there is no map to draw" in captured.err
