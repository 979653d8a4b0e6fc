"""Routes, rules and neighbours; other tables are passed over as by the probe."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("line", "table", "selector"),
    [
        ("0:\tfrom all lookup local", 255, ""),
        ("32766:  from all lookup main", 254, ""),
        ("32767:  from all lookup default", 253, ""),
        ("5: from all fwmark 0x1 lookup 100", 100, "fwmark 0x1"),
        ("5: not from all fwmark 0xca6c lookup 51820", 51820, "not fwmark 0xca6c"),
        ("5: from all iif eth0 lookup 7", 7, "iif eth0"),
        ("5: from all lookup main suppress_prefixlength 0", 254, "suppress_prefixlength 0"),
        ("5: from 10.0.0.0/24 to 10.1.0.0/16 lookup 9", 9, "from 10.0.0.0/24 to 10.1.0.0/16"),
        ("5: from allies lookup 9", 9, "from allies"),
    ],
)
def test_rules_in_the_probes_words(line: str, table: int, selector: str) -> None:
    (found,) = told("rule", f"{line}\n")
    rule = Rule.model_validate(found)
    assert (rule.table, rule.selector) == (table, selector)


def test_a_rule_of_ipv6_says_so() -> None:
    assert Rule.model_validate(*told("rule", "9: from fd00::1 lookup 9\n")).family == "ipv6"


@pytest.mark.parametrize(
    ("line", "route"),
    [
        ("default via fe80::1 dev e0 proto ra metric 100 pref medium", ("default", "fe80::1", None, "ipv6")),
        ("default dev e0 proto static src fd00::2 metric 9", ("default", None, "fd00::2", "ipv6")),
        ("default dev e0 scope link", ("default", None, None, "ipv4")),
        ("10.0.0.0/24 dev e0 proto kernel scope link src 10.0.0.1 linkdown", ("10.0.0.0/24", None, "10.0.0.1", "ipv4")),
        ("10.0.0.0/24 via nowhere dev e0", ("10.0.0.0/24", None, None, "ipv4")),
        ("10.0.0.0/24 dev e0 src nowhere", ("10.0.0.0/24", None, None, "ipv4")),
        ("10.0.0.7/24 dev e0 table main scope link", ("10.0.0.0/24", None, None, "ipv4")),
    ],
)
def test_routes_of_every_kind(line: str, route: tuple[object, ...]) -> None:
    (value,) = told("route", f"$ ip route\n{line}\n")
    found = Route.model_validate(value)
    assert (found.destination, found.gateway, found.source, found.family) == route


@pytest.mark.parametrize(
    "line",
    [
        "10.0.0.0/24 dev e0 table 77 scope link",
        "10.0.0.0/24 via inet6 fe80::1 dev e0",
        "default proto static metric 1024",
        "broadcast 10.0.0.255 dev e0 table local",
        "unreachable 10.0.0.0/8 dev lo",
        "10.0.0.0/33 dev e0 scope link",
    ],
)
def test_routes_that_are_no_way_out_of_the_main_table(line: str) -> None:
    assert told("route", f"$ ip route show table all\n{line}\n") == []


def test_one_route_over_two_gateways_is_two_facts() -> None:
    text = "default via 10.0.0.1 dev e0\ndefault via 10.0.0.2 dev e0\ndefault via 10.0.0.1 dev e1\n"
    assert len(told("route", text)) == 3
    assert {path[1] for path in facts(text)} == {"default e0 10.0.0.1", "default e0 10.0.0.2", "default e1 10.0.0.1"}


@given(st.text(alphabet="default 10.0/24via:dsrcfe8metlookup\tallnot", max_size=80))
def test_any_line_tells_what_the_model_takes_or_nothing(line: str) -> None:
    for kind, model in (("route", Route), ("rule", Rule), ("neighbour", Neighbour)):
        for value in told(kind, f"$ ip route\n{line}\n"):
            model.model_validate(value)
