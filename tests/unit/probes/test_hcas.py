"""HCAs from recorded sysfs trees: a Spark's four functions, soft RoCE, and a device in another namespace."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca
from fabricdoc.probes import hcas, nldev
from tests.sysfs import SPARK, SYS_IMAGE_GUID, bond, rxe, spark, usual_gids, write

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


def test_both_mtus_come_from_verbs_or_stay_unknown_with_their_reason(tmp_path: Path) -> None:
    said = {"mtus": {"rocep1s0f0/1": {"active": 1024, "max": 4096}, "rocep1s0f1/1": {"max": 4096}}}
    found = hcas.with_verbs(hcas.read_hcas(str(spark(tmp_path))), said, "no answer within 3 s")
    mtus = {one["name"]: (one["ports"][0]["active_mtu"], one["ports"][0]["max_mtu"]) for one in found}
    late = {"unknown": "no answer within 3 s"}
    assert mtus["rocep1s0f0"] == (1024, 4096)
    assert mtus["rocep1s0f1"] == (late, 4096)
    assert mtus["roceP2p1s0f0"] == (late, late)
    assert hcas.with_verbs({"unknown": "time limit"}, {}, "") == {"unknown": "time limit"}


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({"mtu_reason": "a can't be opened", "mtus": {}}, "", "a can't be opened"),
        ({"absent": "no library"}, "", "no library"),
        ({"mtus": {}, "mtu_reason": ""}, "", hcas.UNLISTED),
    ],
)
def test_why_there_is_no_mtu(tmp_path: Path, said: dict[str, Any], reason: str, words: str) -> None:
    (found,) = hcas.with_verbs(hcas.read_hcas(str(rxe(tmp_path))), said, reason)
    assert found["ports"][0]["max_mtu"] == {"unknown": words}


def test_the_model_and_the_size_of_the_gid_table(tmp_path: Path) -> None:
    found = read(spark(tmp_path, slots=256))
    assert {(hca.hca_type, hca.ports[0].gid_slots) for hca in found} == {("MT4129", 256)}
    assert {(hca.physical_function, hca.bond) for hca in found} == {(None, None)}


def test_a_virtual_function_names_its_physical_one(tmp_path: Path) -> None:
    virtual = replace(SPARK[0], hca="rocep1s0f0v0", netdev="enp1s0f0v0", pci="0000:01:00.2", physfn="0000:01:00.0")
    found = {hca.name: hca.physical_function for hca in read(spark(tmp_path, [SPARK[0], virtual]))}
    assert found == {"rocep1s0f0": None, "rocep1s0f0v0": "0000:01:00.0"}


def lag(root: Path) -> Path:
    """mlx5_bond_0 of a RoCE LAG: the second function of the card has its interface, but no HCA any more."""
    on_bond = replace(SPARK[0], hca="mlx5_bond_0", gids=usual_gids("10.0.0.1"))
    spark(root, [on_bond, SPARK[1]])
    shutil.rmtree(root / SPARK[1].place.path / "infiniband")
    (root / "sys/class/infiniband/rocep1s0f1").unlink()
    bond(root, "bond0", ["enp1s0f0np0", "enp1s0f1np1"])
    for slot in (root / on_bond.place.path / "infiniband/mlx5_bond_0/ports/1/gid_attrs/ndevs").iterdir():
        slot.write_text("bond0\n")
    return root


def test_the_device_of_a_roce_lag_names_its_bond(tmp_path: Path) -> None:
    (found,) = read(lag(tmp_path))
    assert (found.name, found.bond, found.ports[0].netdev) == ("mlx5_bond_0", "bond0", "bond0")


def test_a_lag_is_seen_by_its_members_too_whatever_the_device_is_called(tmp_path: Path) -> None:
    lag(tmp_path)
    base = tmp_path / SPARK[0].place.path / "infiniband/mlx5_bond_0"
    shutil.rmtree(base / "ports/1/gids")
    (tmp_path / "sys/class/infiniband/mlx5_bond_0").rename(tmp_path / "sys/class/infiniband/roce_any")
    (found,) = read(tmp_path)
    assert (found.bond, found.ports[0].netdev) == ("bond0", "enp1s0f0np0")


def test_a_bond_whose_members_keep_their_hcas_is_no_roce_lag(tmp_path: Path) -> None:
    spark(tmp_path)
    bond(tmp_path, "bond0", ["enp1s0f0np0", "enP2p1s0f0np0"])
    assert {hca.bond for hca in read(tmp_path)} == {None}


def test_a_master_that_is_a_bridge_is_no_bond(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    write(tmp_path, {"sys/devices/virtual/net/br0/bridge/stp_state": "0"})
    (tmp_path / SPARK[0].place.path / "net/enp1s0f0np0/master").symlink_to(tmp_path / "sys/devices/virtual/net/br0")
    assert read(tmp_path)[0].bond is None


@pytest.mark.parametrize(("made_on", "stands_for"), [("bond0", "bond0"), ("ens1f0np0", None)])
def test_soft_roce_stands_for_a_bond_only_when_made_on_it(tmp_path: Path, made_on: str, stands_for: str | None) -> None:
    for name in ("ens1f0np0", "ens1f1np1"):
        write(tmp_path, {f"sys/class/net/{name}/mtu": "1500"})
    bond(tmp_path, "bond0", ["ens1f0np0", "ens1f1np1"])
    assert read(rxe(tmp_path, netdev=made_on))[0].bond == stands_for


def test_a_device_that_goes_away_while_it_is_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark(tmp_path)
    whole = hcas.port

    def port(base: str, number: int) -> dict[str, Any]:
        if base.endswith("roceP2p1s0f0"):
            shutil.rmtree(tmp_path / SPARK[2].place.path)
        return whole(base, number)

    monkeypatch.setattr(hcas, "port", port)
    assert [hca.name for hca in read(tmp_path)] == ["roceP2p1s0f1", "rocep1s0f0", "rocep1s0f1"]


def test_a_device_that_is_gone_before_its_ports_are_listed_has_none(tmp_path: Path) -> None:
    assert hcas.hca(f"{tmp_path}/gone", "gone")["ports"] == []


def test_ports_that_a_child_read_are_taken_as_said(tmp_path: Path) -> None:
    root = str(spark(tmp_path))
    said: dict[str, Any] = {}
    hcas.ask(said.update, root)
    assert sorted(said) == ["roceP2p1s0f0/1", "roceP2p1s0f1/1", "rocep1s0f0/1", "rocep1s0f1/1"]
    assert hcas.read_hcas(root, said, "") == hcas.read_hcas(root)


def test_a_port_that_never_answered_is_there_and_unknown(tmp_path: Path) -> None:
    root = str(spark(tmp_path, SPARK[:2]))
    said: dict[str, Any] = {}
    hcas.ask(said.update, root)
    del said["rocep1s0f1/1"]
    well, sick = (Hca.model_validate(one) for one in hcas.read_hcas(root, said, "no answer within 4 s"))
    late = Unknown(unknown="no answer within 4 s")
    assert well.ports[0].state == "ACTIVE"
    assert (sick.name, sick.firmware, sick.pci, sick.hca_type) == (
        "rocep1s0f1", "28.45.4028", "0000:01:00.1", "MT4129",
    )  # fmt: skip
    assert {getattr(sick.ports[0], name) for name in type(sick.ports[0]).model_fields if name != "number"} == {late}


def test_pci_addresses_without_a_question_to_a_driver(tmp_path: Path) -> None:
    spark(tmp_path)
    rxe(tmp_path, name="rxe0")
    assert sorted(hcas.pci_addresses(str(tmp_path))) == sorted(one.pci for one in SPARK)
    assert hcas.pci_addresses(f"{tmp_path}/gone") == []


def test_the_function_of_a_soft_device_is_its_interfaces(tmp_path: Path) -> None:
    spark(tmp_path)
    rxe(tmp_path, name="rxe0", netdev=SPARK[1].netdev)
    rxe(tmp_path, name="rxe1", netdev=f"../net/{SPARK[0].netdev}")
    assert sorted(hcas.pci_addresses(str(tmp_path))) == sorted([SPARK[1].pci, *(one.pci for one in SPARK)])
    soft = next(one for one in hcas.read_hcas(str(tmp_path)) if one["name"] == "rxe0")
    assert isinstance(Hca.model_validate(soft).pci, Unknown)


DEVICE = nldev.Device(3, "mlx5_0", "28.45.4028", "fc4c:ea03:00f9:4230", SYS_IMAGE_GUID, "roce")


def told(found: Any, ports: list[nldev.Port], devices: list[nldev.Device]) -> list[Hca]:
    whole = hcas.with_nldev(found, lambda: devices, lambda index: ports if index == 3 else [])
    return [Hca.model_validate(one) for one in whole]


@pytest.mark.parametrize("found", [[], {"unknown": "/sys is not mounted"}])
def test_what_sysfs_hides_rdma_netlink_tells(found: Any) -> None:
    (hca,) = told(found, [nldev.Port(1, "ACTIVE", "LinkUp", "eth0")], [DEVICE])
    assert (hca.name, hca.firmware, hca.sys_image_guid) == ("mlx5_0", "28.45.4028", SYS_IMAGE_GUID)
    assert (hca.ports[0].state, hca.ports[0].netdev, hca.ports[0].link_layer) == ("ACTIVE", "eth0", "Ethernet")
    assert isinstance(hca.ports[0].gids, Unknown)


def test_rdma_netlink_names_an_interface_that_sysfs_could_not(tmp_path: Path) -> None:
    rxe(tmp_path, name="mlx5_0")
    port = tmp_path / "sys/class/infiniband/mlx5_0"
    (port / "parent").unlink()
    shutil.rmtree(port / "ports/1/gids")
    (hca,) = told(hcas.read_hcas(str(tmp_path)), [nldev.Port(1, "ACTIVE", "LinkUp", "eth7")], [DEVICE])
    assert hca.ports[0].netdev == "eth7"
    (hca,) = told(hcas.read_hcas(str(tmp_path)), [nldev.Port(1, "ACTIVE", "LinkUp", "")], [DEVICE])
    assert hca.ports[0].netdev == Unknown(unknown=hcas.NO_NETDEV)


def test_what_sysfs_says_stays(tmp_path: Path) -> None:
    found = hcas.read_hcas(str(rxe(tmp_path, name="mlx5_0")))
    (hca,) = told(found, [nldev.Port(1, "DOWN", "Disabled", "other")], [DEVICE])
    assert (hca.ports[0].state, hca.ports[0].netdev) == ("ACTIVE", "ens1f0np0")


def test_an_interface_that_is_known_stays_beside_one_that_was_not(tmp_path: Path) -> None:
    rxe(tmp_path, name="mlx5_0", netdev="ens1f0np0")
    base = tmp_path / "sys/class/infiniband/mlx5_0"
    shutil.copytree(base / "ports/1", base / "ports/2")
    shutil.rmtree(base / "ports/2/gids")
    (base / "parent").unlink()
    asked = [nldev.Port(1, "ACTIVE", "LinkUp", "other"), nldev.Port(2, "ACTIVE", "LinkUp", "ens1f1np1")]
    (hca,) = told(hcas.read_hcas(str(tmp_path)), asked, [DEVICE])
    assert [port.netdev for port in hca.ports] == ["ens1f0np0", "ens1f1np1"]


def test_a_recorded_tree_is_not_mixed_with_this_kernels_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(hcas, "with_nldev", lambda found: asked.append(found) or found)
    assert len(hcas.read_hcas(str(spark(tmp_path)))) == 4
    assert asked == []
    assert hcas.read_hcas("") == asked[0]


def test_a_kernel_without_rdma_netlink_changes_nothing() -> None:
    def refused() -> list[nldev.Device]:
        raise OSError(93, "Protocol not supported")

    assert hcas.with_nldev({"unknown": "/sys is not mounted"}, refused) == {"unknown": "/sys is not mounted"}
    assert hcas.with_nldev([], refused) == []


def test_a_device_whose_ports_are_refused_is_still_listed() -> None:
    def gone(_index: int) -> list[nldev.Port]:
        raise OSError(22, "Invalid argument")

    (found,) = hcas.with_nldev([], lambda: [DEVICE], gone)
    assert Hca.model_validate(found).ports == ()


@pytest.mark.parametrize("text", ["nan Gb/sec", "inf", "-1 Gb/sec", "1e300 Gb/sec", "", "\x00\x00", "9" * 5000])
def test_a_rate_that_no_port_has_is_unknown(tmp_path: Path, text: str) -> None:
    spark(tmp_path, SPARK[:1])
    write(tmp_path, {"sys/class/infiniband/rocep1s0f0/ports/1/rate": text})
    assert isinstance(read(tmp_path)[0].ports[0].rate_gbps, Unknown)


def test_only_numbers_are_ports(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    for name in ("10000", "²", "one", "9" * 30):
        (tmp_path / f"sys/class/infiniband/rocep1s0f0/ports/{name}").mkdir()
    assert [port.number for port in read(tmp_path)[0].ports] == [1]


def test_a_rate_in_other_words_is_unknown(tmp_path: Path) -> None:
    spark(tmp_path, SPARK[:1])
    (tmp_path / "sys/class/infiniband/rocep1s0f0/ports/1/rate").write_text("fast\n")
    (tmp_path / "sys/class/infiniband/rocep1s0f0/ports/1/state").write_text("ACTIVE\n")
    port = read(tmp_path)[0].ports[0]
    assert isinstance(port.rate_gbps, Unknown)
    assert port.state == "ACTIVE"
