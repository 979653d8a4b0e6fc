"""Interfaces named for bootstrap and rendezvous."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.checks.interfaces import check_interfaces, fitting, usable
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed, without
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

NCCL = "NCCL_SOCKET_IFNAME"
ONE_CABLE = spark_one_cable()


def spark(value: str | None = None, name: str = NCCL) -> Fabric:
    return changed(ONE_CABLE, "spark-a", "host", environment={} if value is None else {name: value})


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_interfaces, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("enP7s7", ["enP7s7"]),
        ("=enP7s7", ["enP7s7"]),
        ("enP7", ["enP7s7"]),
        ("=enP7", []),
        ("en", ["enP7s7", "enp1s0f0np0", "enP2p1s0f0np0"]),
        ("^docker,lo", ["enP7s7", "enp1s0f0np0", "enP2p1s0f0np0"]),
        ("^docker", ["lo", "enP7s7", "enp1s0f0np0", "enP2p1s0f0np0"]),
        ("eth0", []),
        ("docker^", []),  # the sign stands first or means nothing
        ("enp1s0f0np0:4242", ["enp1s0f0np0"]),
    ],
)
def test_what_a_value_takes(value: str, fits: list[str]) -> None:
    found = fitting(value, usable(spark_one_cable().nodes[0]))
    assert sorted(one.name for one in found) == sorted(fits)


@pytest.mark.parametrize("value", ["eth0", "=enP7", "wlP9s9", "docker0", "enp1s0f1np1"])
def test_a_name_that_is_nowhere_or_down(value: str) -> None:
    found = only(check_interfaces, spark(value), "socket-ifname-not-found")
    assert (found.severity, found.subject) == ("error", f"spark-a: {NCCL}")
    assert "interfaces with an address: enP7s7," in texts(found)[1]
    assert found.fix[0] == f"on spark-a: export {NCCL}=enP7s7"


@pytest.mark.parametrize("value", ["enP7s7", "en", "^docker,lo,wl", "", "e"])
def test_names_that_are_there(value: str) -> None:
    assert ids(check_interfaces, spark(value)) == []


@pytest.mark.parametrize("name", ["GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"])
@pytest.mark.parametrize(
    ("value", "told"), [("enP7s7", False), ("eth9,enP7s7", False), ("enP7", True), ("=enP7s7", True), ("eth9", True)]
)
def test_gloo_takes_whole_names(name: str, value: str, told: bool) -> None:
    found = ids(check_interfaces, spark(value, name))
    assert found == ([("socket-ifname-not-found", "error", f"spark-a: {name}")] if told else [])


def test_a_single_node_is_told_of_missing_names_too() -> None:
    alone = without(spark("eth0"), "spark-b")
    assert [id for id, *_rest in ids(check_interfaces, alone)] == ["socket-ifname-not-found"]
    unread = changed(spark("eth0"), "*", "node", netdevs=Unknown(unknown="x"))
    assert ids(check_interfaces, unread) == []


def with_docker(value: str | None, **facts: Any) -> Fabric:
    return changed(spark(value), "spark-a", "netdev", "docker0", carrier=True, operstate="up", **facts)


def test_an_interface_that_leads_nowhere() -> None:
    found = only(check_interfaces, with_docker("docker0"), "virtual-interface-selected")
    assert (found.severity, found.subject) == ("warning", "spark-a/docker0")
    assert texts(found)[1] == "first that fits: docker0 (kind bridge, index 8)"
    assert found.fix == ("on spark-a: export NCCL_SOCKET_IFNAME='=enP7s7'",)


def test_the_first_by_index_is_what_nccl_takes() -> None:
    assert ids(check_interfaces, with_docker("docker0,enP7s7")) == []
    first = with_docker("docker0,enP7s7", ifindex=1)
    assert [id for id, *_rest in ids(check_interfaces, first)] == ["virtual-interface-selected"]


def test_by_itself_nccl_leaves_docker_out_but_not_every_bridge() -> None:
    assert ids(check_interfaces, with_docker(None, ifindex=1)) == []
    bridge = changed(with_docker(None, ifindex=1), "spark-a", "netdev", "docker0", name="br-3f9c2b7e5a1d")
    found = only(check_interfaces, bridge, "virtual-interface-selected")
    assert texts(found)[0] == "NCCL_SOCKET_IFNAME is not set"
    vpn = changed(with_docker(None, ifindex=1), "spark-a", "netdev", "docker0", name="tailscale0", kind="tun")
    assert [one[2] for one in ids(check_interfaces, vpn)] == ["spark-a/tailscale0"]


@pytest.mark.parametrize("value", ["lo", "=lo", "^docker"])
def test_loopback_between_nodes_is_an_error(value: str) -> None:
    assert ids(check_interfaces, spark(value)) == [("loopback-selected", "error", "spark-a/lo")]
    assert ids(check_interfaces, without(spark(value), "spark-b")) == []


def test_a_node_without_a_way_out_has_other_troubles() -> None:
    fabric = changed(spark(None), "spark-a", "netdev", "*", carrier=False)
    assert ids(check_interfaces, fabric) == []


@settings(max_examples=40)
@given(st.text(max_size=40).filter(lambda text: "{" not in text))  # which `ids` takes for a word left unfilled
def test_any_value_is_judged_without_failing(value: str) -> None:
    assert {id for id, *_rest in ids(check_interfaces, spark(value.replace("\0", "")))} <= {
        "socket-ifname-not-found",
        "virtual-interface-selected",
        "loopback-selected",
    }


@pytest.mark.parametrize(("value", "told"), [("x", False), ("xx", True), ("=", False), ("e", False), ("zz,e", False)])
def test_a_value_of_one_character_is_not_looked_at(value: str, told: bool) -> None:
    """NCCL src/misc/socket.cc: `if (env && strlen(env) > 1)`."""
    assert ids(check_interfaces, spark(value)) == (
        [("socket-ifname-not-found", "error", f"spark-a: {NCCL}")] if told else []
    )


def test_a_value_of_one_character_leaves_the_choice_to_nccl() -> None:
    first = {"name": "br0", "ifindex": 1, "kind": "bridge"}
    fabric = changed(with_docker("l"), "spark-a", "netdev", "docker0", **first)
    assert [one[0] for one in ids(check_interfaces, fabric)] == ["virtual-interface-selected"]
    assert "NCCL_SOCKET_IFNAME=l (environment)" in texts(only(check_interfaces, fabric, "virtual-interface-selected"))
