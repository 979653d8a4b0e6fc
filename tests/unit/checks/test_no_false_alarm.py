"""What looks ill and is well: no check of single nodes may say more than information of it."""

from __future__ import annotations

import pytest

from fabricdoc.checks.judging import one_node_checks
from fabricdoc.model.fabric import Fabric
from tests.fabrics.altering import changed
from tests.fabrics.oddities import ODDITIES
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.spark import spark_one_cable, spark_ring, spark_straight
from tests.unit.checks.judged import whole

pytestmark = pytest.mark.unit


def alarms(fabric: Fabric) -> list[tuple[str, str]]:
    """Errors and warnings; every finding is checked to be whole."""
    found = [whole(one) for check in one_node_checks() for one in check(fabric)]
    return [(one.id, one.subject) for one in found if one.severity != "info"]


@pytest.mark.parametrize("name", [*HEALTHY, *ODDITIES])
def test_healthy_fabrics(name: str) -> None:
    assert alarms({**RECORDED, **ODDITIES}[name]()) == []


def test_a_ring_needs_both_cages_and_no_forwarding_between_neighbours() -> None:
    assert alarms(spark_ring()) == []


def test_what_guides_tell_users_to_set_is_well() -> None:
    guides = (
        {"NCCL_SOCKET_IFNAME": "enP7s7", "NCCL_IB_HCA": "rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1"},
        {"NCCL_SOCKET_IFNAME": "enp1s0f0np0", "UCX_NET_DEVICES": "enp1s0f0np0", "GLOO_SOCKET_IFNAME": "enp1s0f0np0"},
        {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0", "NCCL_CROSS_NIC": "1", "NCCL_IB_MERGE_NICS": "0"},
        {"NCCL_NET_PLUGIN": "none", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_DEBUG": "INFO", "NCCL_IB_TIMEOUT": "22"},
        {"NCCL_IB_GID_INDEX": "3", "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0", "NCCL_NVLS_ENABLE": "0"},
    )
    for environment in guides:
        assert alarms(changed(spark_one_cable(), "*", "host", environment=environment)) == [], environment


def test_a_pair_without_mtu_nobody_raised_and_with_docker_is_well() -> None:
    fabric = changed(spark_straight(), "*", "netdev", "docker0", carrier=True, operstate="up")
    fabric = changed(fabric, "*", "host", firewall="nftables: 48 rules, policy drop in forward")
    assert alarms(fabric) == []
