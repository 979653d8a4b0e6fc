"""The fingerprint holds what was true when it was measured, and says what it could not know."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Address, Container, Endpoint, Fabric, Host, Link, LinkProof, Netdev, Node
from fabricdoc.tuning import build_preset, judge, preset_to_toml, read_preset
from fabricdoc.tuning.fingerprint import fingerprint
from tests.fabrics.images import nccl, server_image

pytestmark = pytest.mark.unit

NO = {"unknown": "not looked at"}
HOST = Host(**dict.fromkeys([name for name in Host.model_fields if name != "environment"], NO))


def _netdev(name: str, **changes: Any) -> Netdev:
    fields: dict[str, Any] = {
        "name": name, "ifindex": 2, "mac": "02:00:00:00:00:0a", "mtu": 9000, "carrier": True, "operstate": "up",
        "speed_mbps": 200000, "carrier_changes": 1, "driver": "mlx5_core", "pci": NO, "phys_port_name": NO,
    }  # fmt: skip
    return Netdev(**(fields | changes))


def _fabric(netdevs: Any, name: str = "alpha") -> Fabric:
    node = Node(
        name=name, target=name, hcas=(), netdevs=netdevs, routes=(), gpus=(), host=HOST,
        container=Container(kind="none"),
    )  # fmt: skip
    return Fabric(nodes=(node,))


def test_nodes_are_those_of_the_run_with_their_facts(synthetic) -> None:
    run = synthetic(blocks=0, confirm=0).run()
    got = fingerprint(run, None)
    assert [node.name for node in got.nodes] == ["alpha", "beta"]
    assert (got.nodes[0].torch, got.nodes[0].nccl) == ("2.13.0", Unknown(unknown="gloo"))


def test_ports_are_those_of_proven_links_with_their_peer(synthetic) -> None:
    addresses = (
        Address(ip="169.254.3.4", prefix=16, family="ipv4", scope="link"),
        Address(ip="10.77.0.1", prefix=24, family="ipv4"),
        Address(ip="fe80::1", prefix=64, family="ipv6", scope="link"),
        Address(ip="fd00::1", prefix=64, family="ipv6"),
    )
    fabric = _fabric((_netdev("eth9"), _netdev("eth0", addresses=addresses)))
    (port,) = fingerprint(synthetic(blocks=0, confirm=0).run(), fabric).nodes[0].ports
    assert (port.netdev, port.hca, port.mac, port.mtu, port.speed_mbps, port.peer) == (
        "eth0", "mlx5_0", "02:00:00:00:00:0a", 9000, 200000, "beta/eth1",
    )  # fmt: skip
    assert port.addresses == ("10.77.0.1/24", "169.254.3.4/16", "fd00::1/64")


def test_what_no_scan_showed_stays_unknown_but_the_mac_of_the_proof_is_kept(synthetic) -> None:
    run = synthetic(blocks=0, confirm=0).run()
    for fabric, why in (
        (None, "no scan of alpha came with the run"),
        (_fabric((), name="gamma"), "no scan of alpha came with the run"),
        (_fabric((_netdev("eth9"),)), "the scan of alpha shows no eth0"),
        (_fabric(NO), "not looked at"),
    ):
        (port,) = fingerprint(run, fabric).nodes[0].ports
        assert (port.mtu, port.speed_mbps, port.mac) == (
            Unknown(unknown=why),
            Unknown(unknown=why),
            "02:00:00:00:00:01",
        )


def test_a_port_that_meets_several_is_held_to_the_first_by_name(synthetic) -> None:
    def link(node: str, netdev: str) -> Link:
        return Link(
            a=Endpoint(node=node, netdev=netdev, mac="02:00:00:00:00:03"),
            b=Endpoint(node="alpha", netdev="eth0", mac="02:00:00:00:00:01"),
            kind="segment",
            proof=LinkProof(method="beacon", at="2026-11-29T10:00:00Z"),
        )

    run = (
        synthetic(blocks=0, confirm=0).run().model_copy(update={"links": (link("beta", "eth1"), link("beta", "eth0"))})
    )
    (port,) = fingerprint(run, None).nodes[0].ports
    assert port.peer == "beta/eth0"


def test_without_proven_links_there_are_no_ports(synthetic) -> None:
    run = synthetic(blocks=0, confirm=0).run().model_copy(update={"links": Unknown(unknown="no permission")})
    assert [node.ports for node in fingerprint(run, None).nodes] == [(), ()]


def _served(run: Any, *libraries: Any) -> tuple[Any, Fabric]:
    """The run with NCCL 2.28.9 on alpha, and a scan of alpha's image with these libraries."""
    nodes = tuple(node.model_copy(update={"nccl": "2.28.9"}) for node in run.nodes)
    fabric = _fabric(NO)
    node = fabric.nodes[0].model_copy(update={"image": server_image(libnccl=libraries)})
    return run.model_copy(update={"nodes": nodes}), fabric.model_copy(update={"nodes": (node,)})


def test_nccls_build_is_held_by_its_files_hash_where_the_scan_has_it(synthetic) -> None:
    mine = nccl("2.28.9")
    run, fabric = _served(synthetic(blocks=0, confirm=0).run(), nccl("2.26.2", "/usr/lib/libnccl.so.2"), mine)
    assert fingerprint(run, fabric).nodes[0].nccl_sha256 == mine.sha256
    with_cuda = mine.model_copy(update={"version": "2.28.9+cuda13.0"})
    assert fingerprint(*_served(run, with_cuda)).nodes[0].nccl_sha256 == mine.sha256
    assert fingerprint(*_served(run, nccl("2.26.2"))).nodes[0].nccl_sha256 == Unknown(unknown="not read")


def test_a_hash_that_nobody_read_or_that_is_not_one_is_unknown(synthetic) -> None:
    run = synthetic(blocks=0, confirm=0).run()
    bare = nccl("2.28.9").model_copy(update={"sha256": Unknown(unknown="not asked for")})
    assert fingerprint(*_served(run, bare)).nodes[0].nccl_sha256 == Unknown(unknown="not asked for")
    other = nccl("2.28.9", "/opt/libnccl.so.2").model_copy(update={"sha256": "0" * 64})
    assert fingerprint(*_served(run, nccl("2.28.9"), other)).nodes[0].nccl_sha256 == Unknown(
        unknown="there are 2 files of NCCL 2.28.9"
    )
    assert fingerprint(run, None).nodes[0].nccl_sha256 == Unknown(unknown="not read")


def test_the_hash_is_kept_in_the_presets_file(synthetic, profile, tmp_path: Any) -> None:
    run = synthetic(effects={"one": {None: 1.3}}, noise=0.01).run()
    run, fabric = _served(run, nccl("2.28.9"))
    preset = build_preset(run, judge(run, profile), fabric)
    (tmp_path / "p.toml").write_text(preset_to_toml(preset))
    assert read_preset(tmp_path / "p.toml").fingerprint == preset.fingerprint
    assert str(nccl("2.28.9").sha256) in (tmp_path / "p.toml").read_text()
