"""The scan's interface facts against a real kernel: neighbours, rules, membership, settings, namespaces of their own.

Each test changes a node of a real lab and reads it with the probe from inside. VLANs and bonds need a kernel that has
them; where it does not, those two tests say so and are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.netdev import Neighbour, Netdev, Rule

pytestmark = pytest.mark.lab

READ = """
import json, sys
sys.path.insert(0, sys.argv[1])
from probes import neighbours, netdevs, rules
interfaces, said = netdevs.read_netdevs(), {}
netdevs.ask(said.update, interfaces)
netdevs.with_answers(interfaces, said, "")
found = {"netdevs": interfaces, "rules": rules.read_rules(), "neighbours": neighbours.read_neighbours()}
sys.stdout.write(json.dumps(found))
"""
CHANGE = """
import sys
from pyroute2 import IPRoute, NetlinkError
with IPRoute() as ip:
    rail = ip.link_lookup(ifname="enp1s0f0np0")[0]
"""
RAIL = "enp1s0f0np0"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def changed() -> Iterator[Lab]:
    """A lab that these tests may change, each something else."""
    with open_lab(LabSpec()) as opened:
        yield opened


def run(inside: Any, pid: int, code: str, *words: object) -> str:
    ended = inside(pid, code, *words)
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout)


def change(inside: Any, pid: int, *lines: str) -> None:
    """Lines of Python that use `ip` (pyroute2) and `rail` (an index) inside a node."""
    run(inside, pid, CHANGE + "".join(f"    {line}\n" for line in lines))


def read(inside: Any, pid: int) -> dict[str, Any]:
    """Interfaces, rules and neighbours as the probe reads them inside a node."""
    found: dict[str, Any] = json.loads(run(inside, pid, READ, ROOT))
    return found


def netdevs(inside: Any, pid: int) -> dict[str, Netdev]:
    return {one["name"]: Netdev.model_validate(one) for one in read(inside, pid)["netdevs"]}


def test_a_rail_has_what_its_driver_and_its_namespace_say(changed: Lab, inside: Any) -> None:
    rail = netdevs(inside, changed.nodes[0].pid)[RAIL]
    assert (rail.speed_mbps, rail.duplex, rail.autoneg, rail.kind) == (10000, "full", False, "veth")
    assert (rail.lower, rail.master, rail.vlan_id, rail.bond_mode) == (None, None, None, None)
    facts = rail.model_dump()
    assert facts["fec"] == {"unknown": "its driver does not tell (Operation not supported)"}
    assert facts["qos"] == {"unknown": "no device behind it (virtual)"}


ASK = """
import socket, sys
for ip in sys.argv[1:]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.sendto(b"x", (ip, 9))
with socket.socket() as wire:
    wire.settimeout(10)
    assert wire.connect_ex((sys.argv[1], 9)) == 111, "a refusal proves that both ends know each other"
"""


def test_the_peer_of_a_rail_is_a_neighbour_and_an_unused_address_is_none(changed: Lab, inside: Any) -> None:
    alpha, beta = changed.nodes
    run(inside, alpha.pid, ASK, "10.77.0.2", "10.77.0.99")
    found = [Neighbour.model_validate(one) for one in read(inside, alpha.pid)["neighbours"]]
    by_ip = {one.ip: one for one in found if one.netdev == RAIL}
    peer = netdevs(inside, beta.pid)["enp1s0f1np1"]
    assert (by_ip["10.77.0.2"].mac, by_ip["10.77.0.2"].state in ("reachable", "delay", "stale", "probe")) == (
        peer.mac,
        True,
    )
    assert (by_ip["10.77.0.99"].mac, by_ip["10.77.0.99"].state in ("incomplete", "failed")) == (None, True)
    assert not {"noarp", "state 0x40"} & {one.state for one in found}


def test_rules_are_in_the_words_of_ip_rule(changed: Lab, inside: Any) -> None:
    pid = changed.nodes[0].pid
    change(
        inside,
        pid,
        "ip.rule('add', src='10.77.0.1', src_len=32, table=101, priority=1000)",
        "ip.rule('add', dst='10.77.1.0', dst_len=24, table=70000, priority=1001)",
        "ip.rule('add', fwmark=0x1, fwmask=0xff, table=102, priority=1002)",
        f"ip.rule('add', iifname={RAIL!r}, table=103, priority=1003)",
        "ip.rule('add', src='10.88.0.0', src_len=16, action='unreachable', priority=1004)",
    )
    found = [Rule.model_validate(one) for one in read(inside, pid)["rules"]]
    ours = {one.priority: (one.table, one.selector, one.family) for one in found if 1000 <= one.priority < 1100}
    assert ours == {
        1000: (101, "from 10.77.0.1/32", "ipv4"),
        1001: (70000, "to 10.77.1.0/24", "ipv4"),
        1002: (102, "fwmark 0x1/0xff", "ipv4"),
        1003: (103, f"iif {RAIL}", "ipv4"),
        1004: (0, "from 10.88.0.0/16 unreachable", "ipv4"),
    }
    assert next((one.priority, one.table) for one in found if one.family == "ipv4") == (0, 255)


def test_a_bridge_and_a_macvlan_are_told_with_what_they_belong_to(changed: Lab, inside: Any) -> None:
    alpha, beta = changed.nodes
    change(
        inside,
        alpha.pid,
        "ip.link('add', ifname='br0', kind='bridge')",
        "ip.link('add', ifname='leg0', kind='veth', peer={'ifname': 'leg1'})",
        "ip.link('set', index=ip.link_lookup(ifname='leg0')[0], master=ip.link_lookup(ifname='br0')[0])",
        "ip.link('add', ifname='mv0', kind='macvlan', link=rail, macvlan_mode='bridge')",
        "ip.link('add', ifname='mv1', kind='macvlan', link=rail, macvlan_mode='bridge')",
        f"ip.link('set', index=ip.link_lookup(ifname='mv1')[0], net_ns_pid={beta.pid})",
    )
    found = netdevs(inside, alpha.pid)
    assert (found["br0"].kind, found["br0"].master) == ("bridge", None)
    assert (found["leg0"].master, found["leg0"].lower, found["leg1"].master) == ("br0", None, None)
    assert (found["mv0"].kind, found["mv0"].lower, found["mv0"].master) == ("macvlan", RAIL, None)
    there = netdevs(inside, beta.pid)["mv1"]
    assert there.lower == f"index {found[RAIL].ifindex} of another network namespace"


VLAN = "ip.link('add', ifname='rail0.100', kind='vlan', link=rail, vlan_id=100)"
BOND = "ip.link('add', ifname='bond0', kind='bond', bond_mode=4)"


def made(inside: Any, pid: int, line: str) -> bool:
    """Whether the kernel makes such an interface (EOPNOTSUPP: it has none of the kind)."""
    refused = "    except NetlinkError as error:\n        assert error.code == 95, error\n        print('refused')\n"
    return run(inside, pid, CHANGE + f"    try:\n        {line}\n{refused}") == ""


def test_a_vlan_has_its_number_and_the_port_below(changed: Lab, inside: Any) -> None:
    pid = changed.nodes[0].pid
    if not made(inside, pid, VLAN):
        pytest.skip("this kernel has no 802.1Q (8021q)")
    vlan = netdevs(inside, pid)["rail0.100"]
    assert (vlan.kind, vlan.vlan_id, vlan.lower) == ("vlan", 100, RAIL)


def test_a_bond_has_its_mode(changed: Lab, inside: Any) -> None:
    pid = changed.nodes[0].pid
    if not made(inside, pid, BOND):
        pytest.skip("this kernel has no bonding")
    bond = netdevs(inside, pid)["bond0"]
    assert (bond.kind, bond.bond_mode, bond.lower) == ("bond", "802.3ad", None)


SYSCTL = """
import sys
for word in sys.argv[1:]:
    path, value = word.split("=")
    with open(f"/proc/sys/net/ipv4/conf/{path}", "w") as file:
        file.write(value)
"""


def test_the_larger_of_all_and_the_interfaces_setting_is_told(changed: Lab, inside: Any) -> None:
    pid = changed.nodes[1].pid
    words = ["all/rp_filter=1", f"{RAIL}/rp_filter=2", "all/arp_ignore=1", f"{RAIL}/arp_ignore=0", "all/arp_announce=2"]
    run(inside, pid, SYSCTL, *words, "enp1s0f1np1/rp_filter=0")
    found = netdevs(inside, pid)
    assert (found[RAIL].rp_filter, found[RAIL].arp_ignore, found[RAIL].arp_announce) == (2, 1, 2)
    assert (found["enp1s0f1np1"].rp_filter, found["enp1s0f1np1"].arp_announce) == (1, 2)


def test_settings_are_those_of_the_nodes_own_namespace(changed: Lab, inside: Any) -> None:
    run(inside, changed.nodes[1].pid, SYSCTL, f"{RAIL}/arp_announce=1", "all/arp_announce=0")
    found = netdevs(inside, changed.nodes[0].pid)
    assert netdevs(inside, changed.nodes[1].pid)[RAIL].arp_announce == 1
    assert found[RAIL].arp_announce == 0


def test_an_alternative_name_is_told(changed: Lab, inside: Any) -> None:
    pid = changed.nodes[0].pid
    change(inside, pid, f"ip.link('property_add', ifname={RAIL!r}, altname='spark-left')")
    assert "spark-left" in netdevs(inside, pid)[RAIL].altnames
