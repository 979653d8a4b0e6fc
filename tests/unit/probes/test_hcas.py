"""HCAs from recorded sysfs trees: a Spark's four functions, soft RoCE, and a device in another namespace."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca
from fabricdoc.probes import hcas
from tests.sysfs import SPARK, SYS_IMAGE_GUID, rxe, spark, write

pytestmark = pytest.mark.unit


def read(root: Path) -> list[Hca]:
    return [Hca.model_validate(one) for one in hcas.read_hcas(str(root))]


def test_a_spark_has_four_hcas_on_one_chip(tmp_path: Path) -> None:
    found = read(spark(tmp_path))
    assert [hca.name for hca in found] == ["roceP2p1s0f0", "roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"]
    assert {hca.sys_image_guid for hca in found} == {SYS_IMAGE_GUID}
    assert len({hca.node_guid for hca in found}) == 4
    assert {hca.name: hca.pci for hca in found}["roceP2p1s0f1"] == "0002:01:00.1"
    assert {(hca.driver, hca.firmware, hca.board_id) for hca in found} == {("mlx5_core", "28.45.4028", "NVD0000000087")}


def test_ports_with_and_without_a_cable(tmp_path: Path) -> None:
    ports = {hca.name: hca.ports[0] for hca in read(spark(tmp_path))}
    up, down = ports["rocep1s0f0"], ports["rocep1s0f1"]
    assert (up.number, up.state, up.phys_state, up.rate_gbps, up.link_layer) == (
        1,
        "ACTIVE",
        "LinkUp",
        200.0,
        "Ethernet",
    )
    assert (down.state, down.phys_state, down.rate_gbps) == ("DOWN", "Disabled", 40.0)
    assert (up.netdev, down.netdev) == ("enp1s0f0np0", "enp1s0f1np1")
    assert not isinstance(up.gids, Unknown)
    assert [gid.ipv4 for gid in up.gids] == [None, None, "192.168.100.1", "192.168.100.1"]
    assert isinstance(up.active_mtu, Unknown)


def test_no_rdma_in_the_kernel_is_no_hca(tmp_path: Path) -> None:
    (tmp_path / "sys/class").mkdir(parents=True)
    assert hcas.read_hcas(str(tmp_path)) == []


def test_no_sysfs_is_not_the_same_as_no_hca(tmp_path: Path) -> None:
    assert hcas.read_hcas(str(tmp_path)) == {"unknown": "/sys is not mounted"}


def test_soft_roce_has_no_device_but_a_parent(tmp_path: Path) -> None:
    (found,) = read(rxe(tmp_path))
    assert (found.driver, found.ports[0].netdev, found.ports[0].rate_gbps) == ("rdma_rxe", "ens1f0np0", 25.0)
    assert found.pci == Unknown(unknown="no device behind it (virtual)")
    assert isinstance(found.board_id, Unknown)
    assert isinstance(found.firmware, Unknown)


def test_soft_roce_without_gids_still_names_its_interface(tmp_path: Path) -> None:
    rxe(tmp_path)
    port = tmp_path / "sys/class/infiniband/rocep1s0f0/ports/1"
    shutil.rmtree(port / "gids")
    (found,) = read(tmp_path)
    assert found.ports[0].netdev == "ens1f0np0"
    assert isinstance(found.ports[0].gids, Unknown)


def test_an_hca_whose_interface_is_elsewhere_names_none(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    shutil.rmtree(tmp_path / "sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0/net")
    assert read(tmp_path)[0].ports[0].netdev == Unknown(unknown="its interface is in another network namespace")


def test_without_gids_the_functions_only_interface_counts(tmp_path: Path) -> None:
    spark(tmp_path, [replace(SPARK[0], gids=())])
    assert read(tmp_path)[0].ports[0].netdev == "enp1s0f0np0"


def test_two_ports_on_one_function_are_told_apart_by_dev_port(tmp_path: Path) -> None:
    spark(tmp_path, [replace(SPARK[0], gids=())])
    device = "sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0"
    write(tmp_path, {f"{device}/net/second/dev_port": "1"})
    shutil.copytree(
        tmp_path / f"{device}/infiniband/rocep1s0f0/ports/1",
        tmp_path / f"{device}/infiniband/rocep1s0f0/ports/2",
        symlinks=True,
    )
    assert [port.netdev for port in read(tmp_path)[0].ports] == ["enp1s0f0np0", "second"]


def test_interfaces_that_can_not_be_told_apart_are_unknown(tmp_path: Path) -> None:
    spark(tmp_path, [replace(SPARK[0], gids=())])
    write(tmp_path, {"sys/devices/pci0000:00/0000:00:00.0/0000:01:00.0/net/second/dev_port": "0"})
    assert read(tmp_path)[0].ports[0].netdev == Unknown(unknown=hcas.NO_NETDEV)


def test_the_active_mtu_comes_from_verbs_or_stays_unknown_with_its_reason(tmp_path: Path) -> None:
    found = hcas.with_mtus(hcas.read_hcas(str(spark(tmp_path))), {"rocep1s0f0/1": 4096}, "no answer within 3 s")
    mtus = {one["name"]: one["ports"][0]["active_mtu"] for one in found}
    assert mtus["rocep1s0f0"] == 4096
    assert mtus["roceP2p1s0f0"] == {"unknown": "no answer within 3 s"}
    assert hcas.with_mtus({"unknown": "time limit"}, {}, "") == {"unknown": "time limit"}


def test_a_rate_in_other_words_is_unknown(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    (tmp_path / "sys/class/infiniband/rocep1s0f0/ports/1/rate").write_text("fast\n")
    (tmp_path / "sys/class/infiniband/rocep1s0f0/ports/1/state").write_text("ACTIVE\n")
    port = read(tmp_path)[0].ports[0]
    assert isinstance(port.rate_gbps, Unknown)
    assert port.state == "ACTIVE"
