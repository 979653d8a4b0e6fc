"""Nodes that can be taken for one another."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.identity import check_identity, groups
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from tests.fabrics import netdev, node

pytestmark = pytest.mark.unit


def machine(name: str, ip: str = "10.77.0.1", mac: str = "02:00:00:00:00:01", **facts: Any) -> Node:
    made = node(name, netdevs=[netdev("lo", ip="127.0.0.1"), netdev("p0", ip=ip, mac=mac)])
    own = {"hostname": name, "boot_id": f"boot-{name}", "machine_id": f"machine-{name}"}
    return made.model_copy(update={"host": made.host.model_copy(update=own | facts)})


def other(name: str = "beta", **facts: Any) -> Node:
    return machine(name, ip="10.77.0.2", mac="02:00:00:00:00:02", **facts)


def ids(*nodes: Node) -> list[tuple[str, str]]:
    return [(found.id, found.severity) for found in check_identity(Fabric(nodes=nodes))]


def test_two_machines_of_their_own_are_silent() -> None:
    assert ids(machine("alpha"), other()) == []


def test_one_address_on_two_nodes_is_an_error() -> None:
    (found,) = check_identity(Fabric(nodes=(machine("alpha"), machine("beta", mac="02:00:00:00:00:02"))))
    assert (found.id, found.severity, found.subject) == ("duplicate-address", "error", "10.77.0.1")
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "p0 10.77.0.1"),
        ("beta", "p0 10.77.0.1"),
    ]
    assert found.fix == ("give p0 on beta another address",)


@pytest.mark.parametrize("ip", ["169.254.1.1", "127.0.0.1"])
def test_addresses_that_mean_nothing_elsewhere_may_repeat(ip: str) -> None:
    def own(found: Node) -> Node:
        assert not isinstance(found.netdevs, Unknown)
        scoped = [
            one.model_copy(
                update={
                    "addresses": tuple(
                        a.model_copy(
                            update={"ip": ip, "scope": "host" if ip[0] == "1" and ip[:3] == "127" else "global"}
                        )
                        for a in one.addresses
                    )
                }
            )
            for one in found.netdevs
        ]
        return found.model_copy(update={"netdevs": tuple(scoped)})

    assert ids(own(machine("alpha")), own(other())) == []


def test_docker0_is_the_same_on_every_node_and_that_is_fine() -> None:
    def with_docker(found: Node) -> Node:
        docker = netdev("docker0", ip="172.17.0.1").model_copy(update={"kind": "bridge"})
        assert not isinstance(found.netdevs, Unknown)
        return found.model_copy(update={"netdevs": (*found.netdevs, docker)})

    assert ids(with_docker(machine("alpha")), with_docker(other())) == []


def test_one_machine_under_two_names_is_said_once() -> None:
    twice = machine("beta", hostname="alpha", boot_id="boot-alpha", machine_id="machine-alpha")
    assert ids(machine("alpha"), twice) == [("same-node-twice", "warning")]


def test_namespaces_of_one_machine_are_only_information() -> None:
    same = {"hostname": "vm", "boot_id": "b", "machine_id": "m"}
    (found,) = check_identity(Fabric(nodes=(machine("alpha", **same), other(**same))))
    assert (found.id, found.severity, found.subject) == ("host-identity-collision", "info", "alpha, beta")
    assert "NCCL_HOSTID" in found.fix[0]


def test_an_own_nccl_hostid_tells_namespaces_apart() -> None:
    same = {"hostname": "vm", "boot_id": "b", "machine_id": "m"}
    assert (
        ids(machine("alpha", environment={"NCCL_HOSTID": "1"}, **same), other(environment={"NCCL_HOSTID": "2"}, **same))
        == []
    )
    forced = {"environment": {"NCCL_HOSTID": "1"}}
    assert ids(machine("alpha", **forced), other(**forced)) == [("host-identity-collision", "info")]


def test_a_hostname_on_two_machines_is_information() -> None:
    (found,) = check_identity(Fabric(nodes=(machine("alpha", hostname="spark"), other(hostname="spark"))))
    assert (found.id, found.severity) == ("hostname-shared", "info")
    assert found.fix == ("on beta: hostnamectl set-hostname a name of its own",)


def test_a_cloned_image_is_information() -> None:
    assert ids(machine("alpha", machine_id="m"), other(machine_id="m")) == [("machine-id-shared", "info")]


@pytest.mark.parametrize("fact", ["hostname", "boot_id", "machine_id"])
def test_what_is_unknown_is_equal_to_nothing(fact: str) -> None:
    hidden = {fact: Unknown(unknown="no")}
    assert ids(machine("alpha", **hidden), other(**hidden)) == []


def test_nodes_without_interfaces_are_not_one_node() -> None:
    bare = [node(name).model_copy(update={"host": machine(name).host}) for name in ("alpha", "beta")]
    assert ids(*bare) == []


def test_a_cloned_fleet_is_one_finding_one_can_read() -> None:
    """One image, one hostname and one address on 400 machines, each with a boot id of its own."""
    fleet = [
        machine(f"n{k:03d}", mac=f"02:00:00:00:{k >> 8:02x}:{k & 255:02x}", hostname="spark", machine_id="m")
        for k in range(400)
    ]
    found = check_identity(Fabric(nodes=tuple(fleet)))
    assert [one.id for one in found] == ["duplicate-address", "hostname-shared", "machine-id-shared"]
    for one in found:
        assert len(one.evidence) == 8
        assert len(one.fix) == 9
        assert one.fix[-1].startswith("the same on n009")
        assert one.fix[-1].endswith("and 383 more")
    assert found[1].subject.endswith("n007 and 392 more")


def test_one_machine_under_many_names_and_a_second_one_share_an_address() -> None:
    names = [machine(f"n{k}", hostname="a", boot_id="b", machine_id="m") for k in range(3)]
    assert ids(*names) == [("same-node-twice", "warning")]
    found = check_identity(Fabric(nodes=(*names, machine("other", mac="02:00:00:00:00:09"))))
    assert [one.id for one in found] == ["same-node-twice", "duplicate-address"]


@pytest.mark.parametrize("ip", ["169.254.1.1", "fe80::1"])
def test_link_local_addresses_are_everywhere(ip: str) -> None:
    assert ids(machine("alpha", ip=ip), machine("beta", ip=ip, mac="02:00:00:00:00:02")) == []


def test_one_address_on_two_ports_of_one_node_is_not_two_nodes() -> None:
    ports = [netdev("p0", ip="10.0.0.1", mac="02:00:00:00:00:11"), netdev("p1", ip="10.0.0.1", mac="02:00:00:00:00:12")]
    alpha = node("alpha", netdevs=ports).model_copy(update={"host": machine("alpha").host})
    assert ids(alpha, other()) == []


def test_an_interface_without_a_carrier_has_its_address_unused() -> None:
    def dark(found: Node) -> Node:
        assert not isinstance(found.netdevs, Unknown)
        down = tuple(one.model_copy(update={"carrier": False}) for one in found.netdevs)
        return found.model_copy(update={"netdevs": down})

    assert ids(machine("alpha"), dark(machine("beta", mac="02:00:00:00:00:02"))) == []


def test_the_same_boot_id_with_other_interfaces_is_another_namespace() -> None:
    same = {"hostname": "vm", "boot_id": "b", "machine_id": "m"}
    assert ids(machine("alpha", **same), machine("beta", **same)) == [("same-node-twice", "warning")]
    assert ids(machine("alpha", **same), other(**same)) == [("host-identity-collision", "info")]


def test_interfaces_of_unknown_mac_prove_no_sameness() -> None:
    def masked(found: Node) -> Node:
        assert not isinstance(found.netdevs, Unknown)
        hidden = tuple(one.model_copy(update={"mac": Unknown(unknown="no")}) for one in found.netdevs)
        return found.model_copy(update={"netdevs": hidden})

    same = {"hostname": "vm", "boot_id": "b", "machine_id": "m"}
    found = ids(masked(machine("alpha", **same)), masked(machine("beta", **same)))
    assert "same-node-twice" not in dict(found)


def test_three_machines_of_one_name_and_two_of_one_image() -> None:
    nodes = [
        machine(f"n{k}", ip=f"10.0.0.{k + 1}", mac=f"02:00:00:00:00:0{k}", hostname="spark", machine_id=f"m{k // 2}")
        for k in range(3)
    ]
    found = check_identity(Fabric(nodes=tuple(nodes)))
    assert [(one.id, one.subject) for one in found] == [
        ("hostname-shared", "n0, n1, n2"),
        ("machine-id-shared", "n0, n1"),
    ]


def test_a_machine_listed_twice_beside_a_clone_says_nothing_of_names() -> None:
    """Their boot ids are not all different, so who shares a name with whom can't be told apart from the double."""
    twice = [machine(name, hostname="spark", boot_id="b", machine_id="m") for name in ("alpha", "beta")]
    clone = machine("gamma", ip="10.0.0.9", mac="02:00:00:00:00:09", hostname="spark", machine_id="m")
    assert ids(*twice, clone) == [("same-node-twice", "warning")]


def test_groups_leave_out_what_has_no_key() -> None:
    nodes = (machine("alpha"), machine("beta"), machine("gamma"))
    fabric = Fabric(nodes=nodes)
    assert [[one.name for one in group] for group in groups(fabric, lambda one: one.name == "alpha" or None)] == []
    assert [len(group) for group in groups(fabric, lambda one: one.name != "alpha")] == [2]


@pytest.mark.parametrize("hidden", ["hostname", "boot_id"])
def test_half_of_what_nccl_tells_hosts_apart_by_is_nothing(hidden: str) -> None:
    same = {"hostname": "vm", "boot_id": "b", "machine_id": "m"} | {hidden: Unknown(unknown="no")}
    assert "host-identity-collision" not in dict(ids(machine("alpha", **same), other(**same)))
