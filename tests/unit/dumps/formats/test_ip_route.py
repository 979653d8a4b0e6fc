"""Routes, rules and neighbours; other tables are passed over as by the probe."""

from __future__ import annotations

import json

import pytest

from fabricdoc.model.fabric import Neighbour, Route, Rule
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TEXT = fixture("ip-route.txt")


def told(kind: str, text: str = TEXT) -> list[object]:
    return [value for path, value in facts(text).items() if path[0] == kind]


def test_routes() -> None:
    assert [Route.model_validate(value) for value in told("route")] == [
        Route(destination="default", netdev="enP7s7", gateway="192.0.2.1", source="192.0.2.40"),
        Route(destination="10.77.0.0/24", netdev="enp1s0f0np0", source="10.77.0.1"),
        Route(destination="fe80::/64", netdev="enp1s0f0np0", family="ipv6"),
    ]


def test_a_host_route_is_a_network_of_one() -> None:
    assert told("route", "10.0.0.7 dev eth0 scope link\n")[0]["destination"] == "10.0.0.7/32"  # type: ignore[index]


def test_rules() -> None:
    assert [Rule.model_validate(value) for value in told("rule")] == [
        Rule(priority=0, table=255),
        Rule(priority=1000, table=77, selector="from 10.77.0.1"),
    ]


def test_neighbours() -> None:
    assert [Neighbour.model_validate(value) for value in told("neighbour")] == [
        Neighbour(ip="10.77.0.2", netdev="enp1s0f0np0", mac="0a:0b:0c:03:22:10", state="reachable"),
        Neighbour(ip="10.77.0.9", netdev="enp1s0f0np0", state="failed"),
    ]


def test_json() -> None:
    routes = [{"dst": "default", "gateway": "192.0.2.1", "dev": "enP7s7", "prefsrc": "192.0.2.40", "flags": []}]
    assert told("route", json.dumps(routes)) == told("route")[:1]
    neighbours = [{"dst": "10.77.0.2", "dev": "enp1s0f0np0", "lladdr": "0a:0b:0c:03:22:10", "state": ["REACHABLE"]}]
    assert told("neighbour", json.dumps(neighbours)) == told("neighbour")[:1]
    rules = [
        {"priority": 0, "src": "all", "table": "local"},
        {"priority": 9, "src": "10.0.0.0", "srclen": 8, "table": "7"},
    ]
    found = [Rule.model_validate(value) for value in told("rule", json.dumps(rules))]
    assert [one.selector for one in found] == ["", "from 10.0.0.0/8"]


def test_a_neighbour_without_its_device_is_passed_over() -> None:
    assert facts(json.dumps([{"dst": "10.0.0.1", "lladdr": "02:00:00:00:00:01", "state": ["STALE"]}])) == {}


@pytest.mark.parametrize(
    "line",
    [
        "10.0.0.1.2 dev x proto y",
        "default dev",
        "1: from all lookup nowhere",
        "300.1.1.1 dev a lladdr 02:00:00:00:00:01 STALE",
    ],
)
def test_nonsense_is_no_fact(line: str) -> None:
    assert told("route", line) == told("rule", line) == told("neighbour", line) == []


def test_it_is_recognised_by_its_lines() -> None:
    assert [tool for tool, _first, _last in tools(TEXT)] == ["ip route"]
