"""Ports and whom they meet."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate.compared import Compared
from fabricdoc.gate.ports import meetings, peer_comparisons, port_comparisons, unlistened
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.preset import Preset

pytestmark = pytest.mark.unit


def links_of(fabric: Fabric) -> tuple[Link, ...]:
    assert not isinstance(fabric.links, Unknown)
    return fabric.links


A0, B1 = "alpha/enp1s0f0np0", "beta/enp1s0f1np1"


def found(preset: Preset, fabric: Fabric, id: str) -> Compared:
    comparisons = port_comparisons(preset.fingerprint.nodes[0], fabric.nodes[0])
    return next(one for one in comparisons if one.id == id and one.place == A0)


def with_port(preset: Preset, change: Any, **fields: Any) -> Preset:
    ports = preset.fingerprint.nodes[0].ports
    changed: Preset = change.printed(preset, "alpha", ports=(ports[0].model_copy(update=fields), ports[1]))
    return changed


def test_a_mac_is_compared_without_case(preset: Preset, fabric: Fabric, change: Any) -> None:
    assert found(with_port(preset, change, mac="02:00:00:00:00:00"), fabric, "mac").outcome == "ok"
    upper = change.port(fabric, A0, mac="02:AB:00:00:00:00")
    assert found(with_port(preset, change, mac="02:ab:00:00:00:00"), upper, "mac").outcome == "ok"


@pytest.mark.parametrize(
    ("recorded", "outcome"),
    [
        (("10.77.0.1/24",), "ok"),
        (("10.77.0.1",), "ok"),
        ((), "ok"),
        (("10.77.0.1/16",), "differs"),
        (("10.77.0.9",), "differs"),
        (("fe80::1/64",), "differs"),
        (("not an address",), "differs"),
    ],
)
def test_addresses_with_and_without_prefix(
    preset: Preset, fabric: Fabric, change: Any, recorded: tuple[str, ...], outcome: str
) -> None:
    got = found(with_port(preset, change, addresses=recorded), fabric, "address")
    assert got.outcome == outcome
    assert got.lost == (recorded if outcome == "differs" else ())


def test_ipv6_spelling_does_not_matter(preset: Preset, fabric: Fabric, change: Any) -> None:
    netdevs = fabric.nodes[0].netdevs
    assert not isinstance(netdevs, Unknown)
    long = netdevs[0].addresses[0].model_copy(update={"ip": "fd00:0:0::1", "prefix": 64, "family": "ipv6"})
    now = change.port(fabric, A0, addresses=(long,))
    assert found(with_port(preset, change, addresses=("fd00::1/64",)), now, "address").outcome == "ok"


def test_a_port_without_rdma_device_is_not_asked_for_one(preset: Preset, fabric: Fabric, change: Any) -> None:
    bare = port_comparisons(with_port(preset, change, hca=None).fingerprint.nodes[0], fabric.nodes[0])
    assert [one.place for one in bare if one.id == "rdma-device"] == ["alpha/enp1s0f1np1"]
    none = change.node(fabric, "alpha", hcas=())
    assert found(preset, none, "rdma-device").seen == "none"
    unread = change.node(fabric, "alpha", hcas=Unknown(unknown="no sysfs"))
    assert found(preset, unread, "rdma-device").outcome == "unknown"


def test_unread_netdevs_say_so_once_per_port(preset: Preset, fabric: Fabric, change: Any) -> None:
    deaf = change.node(fabric, "alpha", netdevs=Unknown(unknown="netlink failed"))
    got = port_comparisons(preset.fingerprint.nodes[0], deaf.nodes[0])
    assert [(one.id, one.outcome, one.seen) for one in got] == [("port", "unknown", "unknown: netlink failed")] * 2


def test_meetings_are_told_from_both_ends(fabric: Fabric, change: Any) -> None:
    met = meetings((change.link(A0, B1), change.link(A0, "gamma/x", "one-way")))
    assert [(one.peer, one.both_ways) for one in met[A0]] == [(B1, True), ("gamma/x", False)]
    assert [one.peer for one in met[B1]] == [A0]


def test_a_port_without_recorded_peer_is_not_asked_for_one(preset: Preset, fabric: Fabric, change: Any) -> None:
    silent = with_port(preset, change, peer="")
    got = peer_comparisons(silent.fingerprint.nodes[0], fabric, {}, meetings(links_of(fabric)))
    assert [one.place for one in got] == ["alpha/enp1s0f1np1"]


def test_a_port_that_could_not_be_opened_is_unknown_not_silent(preset: Preset, fabric: Fabric) -> None:
    refused = Finding(
        id="port-not-probed", severity="info", subject=B1, evidence=(Evidence(file="beta", text="no CAP_NET_RAW"),)
    )
    half = fabric.model_copy(update={"links": (), "findings": (refused,)})
    got = peer_comparisons(preset.fingerprint.nodes[0], half, unlistened(half, []), meetings(links_of(half)))
    assert [(one.outcome, one.seen) for one in got] == [
        ("unknown", "unknown: no CAP_NET_RAW"),
        ("differs", "nobody heard"),
    ]
    assert unlistened(half, ["gamma"])["gamma"] == "gamma could not be read"


def test_a_node_that_failed_while_cables_were_proven_is_unknown_from_both_ends(preset: Preset, fabric: Fabric) -> None:
    fell = Finding(
        id="port-not-probed",
        severity="warning",
        subject="beta",
        evidence=(Evidence(file="beta", text="beta: it fell"),),
    )
    half = fabric.model_copy(update={"links": (), "findings": (fell,)})
    for printed in preset.fingerprint.nodes:
        got = peer_comparisons(printed, half, unlistened(half, []), meetings(links_of(half)))
        assert {(one.outcome, one.seen) for one in got} == {("unknown", "unknown: beta: it fell")}, printed.name
