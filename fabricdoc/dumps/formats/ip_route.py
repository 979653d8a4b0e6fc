"""`ip route`, `ip rule` and `ip neigh` as text: main-table routes, policy rules, neighbours.

Routes of other tables are passed over, as the probe does. What is no address or network is no fact.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fabricdoc.dumps.formats.base import Format, Line, mac, whole
from fabricdoc.dumps.told import Told

STATES = "PERMANENT|NOARP|REACHABLE|STALE|NONE|INCOMPLETE|DELAY|PROBE|FAILED"
NEIGHBOUR = re.compile(
    rf"\s*(?P<ip>[0-9a-fA-F.:]{{2,45}})\s+dev\s+(?P<dev>\S{{1,64}})(?:\s+lladdr\s+(?P<mac>\S+))?(?:\s+router|\s+proxy|\s+extern_learn)*"
    rf"\s+(?P<state>{STATES})\s*$"
)
ROUTE = re.compile(
    r"\s*(?P<to>default|[0-9a-fA-F.:]{2,45}(?:/\d{1,3})?)\s+(?P<rest>(?:via|dev|proto|src|scope|metric)\s.*)$"
)
RULE = re.compile(
    r"\s*(?P<priority>\d{1,10}):\s+(?P<selector>(?:not\s+)?from\s.*?)\s+lookup\s+(?P<table>\S+)"
    r"(?:\s+(?P<limit>suppress_prefixlength\s+\d{1,3}))?"
)
FROM_ALL = re.compile(r"^(not )?from all(?:\s+|$)")
TABLES = {"local": 255, "main": 254, "default": 253}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every line."""
    for number, text in lines:
        if match := NEIGHBOUR.match(text):
            yield from neighbour_facts(match["ip"], match["dev"], match["mac"], match["state"], number)
        elif match := RULE.match(text):
            words = f"{match['selector']} {match['limit'] or ''}".strip()
            yield from rule_facts(whole(match["priority"]), words, match["table"], number)
        elif match := ROUTE.match(text):
            pairs = match["rest"].split()
            about = dict(zip(pairs[::2], pairs[1::2], strict=False))
            yield from route_facts(match["to"], about, number)


def neighbour_facts(ip: str, netdev: str, hardware: Any, state: str, number: int) -> Iterator[Told]:
    """An entry of the neighbour table (model.fabric.Neighbour)."""
    if _is_address(ip):
        value = {"ip": ip, "netdev": netdev, "mac": mac(str(hardware or "")), "state": state.lower()}
        yield Told(("neighbour", ip, netdev), value, number)


def route_facts(to: str, about: dict[str, Any], number: int) -> Iterator[Told]:
    """A route of the main table (model.fabric.Route); none where its interface or network is not told."""
    netdev, gateway, source = (about.get(key) for key in ("dev", "via", "src"))
    table = str(about.get("table", "main"))
    network = _network(to)
    if not isinstance(netdev, str) or network is None or table not in ("main", "254"):
        return
    gateway = gateway if isinstance(gateway, str) and _is_address(gateway) else None
    six = ":" in network or (network == "default" and ":" in str(gateway or source or ""))
    value = {
        "destination": network,
        "netdev": netdev,
        "gateway": gateway,
        "source": source if isinstance(source, str) and _is_address(source) else None,
        "family": "ipv6" if six else "ipv4",
    }
    yield Told(("route", f"{network} {netdev} {gateway or ''}"), value, number)


def rule_facts(priority: int | None, selector: str, table: str, number: int) -> Iterator[Told]:
    """A policy rule (model.fabric.Rule) in the probe's words, which leave "from all" out.

    Tables by name are known for the kernel's own three only.
    """
    of_table = TABLES.get(table, whole(table))
    if priority is not None and of_table is not None:
        words = FROM_ALL.sub(r"\1", selector).strip()
        value = {
            "priority": priority,
            "table": of_table,
            "selector": words,
            "family": "ipv6" if ":" in words else "ipv4",
        }
        yield Told(("rule", f"{priority} {words} {of_table}"), value, number)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _network(text: str) -> str | None:
    """A destination as the probe writes it: CIDR, or "default"."""
    if text == "default":
        return text
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return None


FORMAT = Format(
    tool="ip route",
    command=r"ip\s+(?:-(?:4|6|d|details|s|statistics|c|color|o|j|p|json|pretty)\S*\s+)*(?:r|ro|rou|route|n|ne|neigh|neighbour|ru|rule)\b",
    file=r"ip[-_. ]?(?:route|rule|neigh(?:bour)?)s?|routes?|neigh|arp",
    begins=r"\s*(?:default|[0-9a-fA-F]+[.:][0-9a-fA-F.:]*(?:/\d+)?)\s+(?:via\s+\S+\s+)?dev\s+\S+|\s*\d+:\s+(?:not\s+)?from\s.*\blookup\s",
    goes_on=r"\s+nexthop\s|\s*(?:unreachable|blackhole|prohibit|broadcast|local|multicast|anycast)\s|\s*(?:default|[0-9a-fA-F.:]+"
    r"(?:/\d+)?)\s+(?:via|dev|proto|metric|scope)\s",
    read=read,
)
