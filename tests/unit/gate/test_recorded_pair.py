"""Faults that no lab can make for real, on the recorded Spark pair: each a no-go that names id, node and port."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from fabricdoc.export.starting_prints import prints_of
from fabricdoc.gate import Looked, Terms, conclude, judge_quick
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Gid, Hca, Node, PcieFunction
from fabricdoc.model.gate import Drift, Gate
from fabricdoc.model.preset import Preset
from tests.fabrics.spark import spark_crossed
from tests.unit.workflow.gate_made import IB, preset

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
B, P, TWIN = "spark-b", "enp1s0f0np0", "enP2p1s0f0np0"
HCA, OTHER = "rocep1s0f0", "roceP2p1s0f0"
Change = Callable[[Node], Node]


def pair() -> Preset:
    """As it was recorded when all was well."""
    fabric = spark_crossed()
    netdevs = {node.name: [netdev_of(hca) for hca in hcas_of(node)] for node in fabric.nodes}
    return preset().model_copy(update={"fingerprint": prints_of(fabric, netdevs)})


def hcas_of(node: Node) -> tuple[Hca, ...]:
    assert not isinstance(node.hcas, Unknown)
    return node.hcas


def netdev_of(hca: Hca) -> str:
    netdev = hca.ports[0].netdev
    assert isinstance(netdev, str)
    return netdev


def gated(fabric: Fabric, of: Preset, drift: Drift = "fail", **lines: str) -> Gate:
    names = [node.name for node in fabric.nodes]
    variables = dict.fromkeys(names, IB | lines)
    checks, findings = judge_quick(Looked(fabric=fabric, preset=of, now=NOW, variables=variables, head=names[0]))
    return conclude(Terms(preset="pair", drift=drift), names, checks, findings)


def changed(change: Change) -> Fabric:
    """With spark-b otherwise."""
    fabric = spark_crossed()
    return fabric.model_copy(update={"nodes": tuple(change(one) if one.name == B else one for one in fabric.nodes)})


def with_hca(name: str, **fields: Any) -> Change:
    def change(node: Node) -> Node:
        hcas = tuple(one.model_copy(update=fields) if one.name == name else one for one in hcas_of(node))
        return node.model_copy(update={"hcas": hcas})

    return change


def with_gids(*gids: Gid) -> Change:
    def change(node: Node) -> Node:
        port = next(one for one in hcas_of(node) if one.name == HCA).ports[0].model_copy(update={"gids": gids})
        return with_hca(HCA, ports=(port,))(node)

    return change


def narrower(node: Node) -> Node:
    """The second PCIe link of the cage came up with two lanes."""
    address = next(one.pci for one in hcas_of(node) if one.name == OTHER)
    assert not isinstance(node.pcie, Unknown)

    def lanes(one: PcieFunction) -> PcieFunction:
        return one.model_copy(update={"current_width": 2}) if one.address == address else one

    return node.model_copy(update={"pcie": tuple(map(lanes, node.pcie))})


def refused(gate: Gate) -> set[tuple[str, str]]:
    return {(one.id, one.place) for one in gate.checks if one.outcome == "differs"}


def test_the_recorded_pair_is_a_go() -> None:
    gate = gated(spark_crossed(), pair())
    assert (gate.answer, refused(gate)) == ("go", set())


@pytest.mark.parametrize(
    ("change", "id", "place", "drifts"),
    [
        (with_hca(HCA, firmware="28.47.1088"), "firmware", f"{B}/{P}", True),
        (narrower, "pcie", f"{B}/{TWIN}", False),
        (lambda one: one.model_copy(update={"gpus": ()}), "gpus", B, True),
        (lambda one: with_host(one, kernel="6.17.0-1008-nvidia"), "kernel", B, True),
        (lambda one: with_host(one, nvidia_driver="580.142"), "nvidia-driver", B, True),
    ],
    ids=["firmware", "pcie", "gpus", "kernel", "driver"],
)
def test_one_fact_that_changed_names_id_node_and_port(change: Change, id: str, place: str, drifts: bool) -> None:
    """With the same fingerprint; what breaks nothing by itself may be told as drift."""
    preset_of_then = pair()
    gate = gated(changed(change), preset_of_then)
    assert gate.answer == "no-go"
    assert refused(gate) == {(id, place)}
    (check,) = [one for one in gate.checks if (one.id, one.place) == (id, place)]
    assert check.fix and check.who
    told = gated(changed(change), preset_of_then, drift="report")
    assert (told.answer == "go") is drifts
    assert gated(spark_crossed(), preset_of_then).answer == "go", "as it was: a go again"


def with_host(node: Node, **fields: Any) -> Node:
    return node.model_copy(update={"host": node.host.model_copy(update=fields)})


def test_an_unread_firmware_could_not_be_told() -> None:
    gate = gated(changed(with_hca(HCA, firmware=Unknown(unknown="no fw_ver"))), pair())
    assert gate.answer == "could-not-tell"


@pytest.mark.parametrize("pin", [None, "3", "5"])
def test_a_gid_at_another_index_matters_where_the_index_is_pinned(pin: str | None) -> None:
    """The address was deleted and added: the same GID, at 5 instead of 3."""
    fabric = spark_crossed()
    gids = next(hca for hca in hcas_of(fabric.nodes[1]) if hca.name == HCA).ports[0].gids
    assert not isinstance(gids, Unknown)
    (now,) = [one for one in gids if one.ipv4 and one.type == "RoCE v2"]
    assert now.index == 3
    moved = with_gids(*(one for one in gids if one != now), now.model_copy(update={"index": 5}))
    gate = gated(changed(moved), pair(), **({"NCCL_IB_GID_INDEX": pin} if pin else {}))
    here = {("hca-gid", f"{B}/{P}")}
    assert (refused(gate) & here == here) is (pin == "3")
    assert (gate.answer == "go") is (pin is None), "5 is wrong on all the other ports"
