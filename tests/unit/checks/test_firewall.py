"""Host firewalls: a hint, stronger where what comes in is dropped by default."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.firewall import check_firewall
from fabricdoc.model.documents import Unknown
from tests.fabrics.altering import changed, without
from tests.fabrics.recorded import RECORDED
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_firewall, RECORDED[name]()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("told", "severity"),
    [
        ("nftables: 12 rules", "info"),
        ("nftables: 12 rules, policy drop in input", "warning"),
        ("nftables: 12 rules, policy drop in input, forward; ufw is enabled", "warning"),
        ("nftables: 1 rule, policy drop in forward, input", "warning"),
        ("nftables: 1 rule, policy drop in forward, output", "info"),
        ("ufw is enabled", "warning"),
        ("iptables (legacy) tables filter", "info"),
        ("nftables: 3 rules, policy drop in forward", "info"),  # what Docker sets
        ("none seen", None),
        ("none", None),
        (Unknown(unknown="nftables: Operation not permitted"), None),
    ],
)
def test_the_words_of_the_probe(told: Any, severity: str | None) -> None:
    fabric = changed(spark_one_cable(), "spark-b", "host", firewall=told)
    assert ids(check_firewall, fabric) == ([("host-firewall", severity, "spark-b")] if severity else [])


def test_the_fix_lets_in_what_comes_over_the_fabric_ports() -> None:
    fabric = changed(spark_one_cable(), "spark-b", "host", firewall="ufw is enabled")
    found = only(check_firewall, fabric, "host-firewall")
    assert (texts(found), found.confidence) == (["ufw is enabled"], "possible")
    assert found.fix[:2] == ("on spark-b:", "sudo ufw allow in on enP2p1s0f0np0")


def test_one_node_alone_lets_nobody_in() -> None:
    fabric = changed(spark_one_cable(), "*", "host", firewall="ufw is enabled")
    assert ids(check_firewall, without(fabric, "spark-b")) == []


def test_a_node_without_fabric_ports_is_left_alone() -> None:
    fabric = changed(spark_one_cable(), "*", "host", firewall="ufw is enabled")
    assert ids(check_firewall, changed(fabric, "*", "port", "*", state="DOWN")) == []
