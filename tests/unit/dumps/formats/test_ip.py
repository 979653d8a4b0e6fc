"""ip addr and ip link, plain, -d and JSON: interfaces and addresses; what this machine's own ip says is told alike."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from fabricdoc.dumps import read_text
from fabricdoc.dumps.merging import merged
from fabricdoc.dumps.sources import Facts
from fabricdoc.model.documents import Unknown
from fabricdoc.probes.netdevs import read_netdevs
from tests.unit.dumps.texts import facts, fixture, line_of

pytestmark = pytest.mark.unit

TEXT = fixture("ip-d-addr.txt")


def netdev(name: str, text: str = TEXT) -> dict[object, object]:
    return {path[2]: value for path, value in facts(text).items() if path[:2] == ("netdev", name)}


def test_an_interface() -> None:
    assert netdev("enp1s0f0np0") == {
        "name": "enp1s0f0np0",
        "ifindex": 3,
        "carrier": True,
        "mtu": 9000,
        "operstate": "up",
        "master": "bond7",
        "mac": "0a:0b:0c:03:11:10",
        "phys_port_name": "p0",
        "pci": "0000:01:00.0",
        "altname": "cage-left",
    }


def test_no_carrier_is_told_of_an_interface_that_is_up_only() -> None:
    assert netdev("enp1s0f1np1")["carrier"] is False
    assert "carrier" not in netdev("veth9")
    assert netdev("veth9")["operstate"] == "down"


def test_what_it_sits_on() -> None:
    vlan = netdev("enp1s0f0np0.40")
    assert (vlan["lower"], vlan["kind"], vlan["vlan_id"]) == ("enp1s0f0np0", "vlan", 40)
    veth = netdev("veth9")
    assert veth["kind"] == "veth"
    assert "lower" not in veth
    assert netdev("bond7")["bond_mode"] == "802.3ad"


def test_addresses() -> None:
    found = {path[1:]: value for path, value in facts(TEXT).items() if path[0] == "address"}
    assert found == {
        ("lo", "127.0.0.1/8"): "host",
        ("enp1s0f0np0", "10.77.0.1/24"): "global",
        ("enp1s0f0np0", "fe80::a0b:cff:fe03:1110/64"): "link",
        ("enp1s0f0np0.40", "10.77.40.1/32"): "global",
    }
    assert line_of(TEXT, ("address", "enp1s0f0np0", "10.77.0.1/24")) == 8


@pytest.mark.parametrize("bad", ["10.0.0.999/24", "10.0.0.1/33", "fe80::g/64"])
def test_no_address_is_no_fact(bad: str) -> None:
    text = f"3: a0: <UP> mtu 1500 qdisc mq\n    inet {bad} scope global a0\n"
    assert not [path for path in facts(text) if path[0] == "address"]


def test_brief_addresses_and_links() -> None:
    text = (
        "lo               UNKNOWN        127.0.0.1/8 ::1/128\n"
        "e0               UP             10.77.0.1/24 fe80::a0b:cff:fe03:1110/64\n"
        "e0.40@e0         LOWERLAYERDOWN\n"
        "e1               DOWN           0a:0b:0c:03:11:11 <NO-CARRIER,BROADCAST,MULTICAST,UP>\n"
    )
    found = facts(text)
    assert found[("address", "e0", "10.77.0.1/24")] == "global"
    assert found[("address", "e0", "fe80::a0b:cff:fe03:1110/64")] == "link"
    assert found[("address", "lo", "127.0.0.1/8")] == "host"
    assert found[("netdev", "e0.40", "lower")] == "e0"
    assert found[("netdev", "e0.40", "operstate")] == "lowerlayerdown"
    assert found[("netdev", "e1", "carrier")] is False
    assert found[("netdev", "e1", "mac")] == "0a:0b:0c:03:11:11"


def test_addresses_in_capitals_are_written_small() -> None:
    found = facts("e0               UP             FE80::A0B:CFF:FE03:1110/64\n", "ip_addr.txt")
    assert found[("address", "e0", "fe80::a0b:cff:fe03:1110/64")] == "link"


def test_json() -> None:
    text = fixture("ip-addr.json")
    assert netdev("enp1s0f0np0", text) == {
        key: value for key, value in netdev("enp1s0f0np0").items() if key != "master"
    }
    assert facts(text)[("address", "enp1s0f0np0", "10.77.0.1/24")] == "global"
    vlan = netdev("enp1s0f0np0.40", text)
    assert (vlan["vlan_id"], vlan["lower"], vlan["operstate"]) == (40, "enp1s0f0np0", "down")
    assert "carrier" not in vlan


def test_json_lines_are_those_of_the_entry() -> None:
    text = fixture("ip-addr.json")
    assert line_of(text, ("netdev", "enp1s0f0np0", "mtu")) == 1
    assert line_of(text, ("netdev", "enp1s0f0np0.40", "mtu")) == 18


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, True, 2**80, [1, {"local": 5}]])
def test_json_of_any_type_is_read(value: object) -> None:
    keys = (
        "ifname",
        "ifindex",
        "flags",
        "mtu",
        "address",
        "operstate",
        "linkinfo",
        "altnames",
        "addr_info",
        "parentbus",
    )
    for key in keys:
        facts(json.dumps([{"ifname": "a", "mtu": 1500, key: value}]))


@pytest.mark.skipif(shutil.which("ip") is None, reason="no ip program on this machine")
def test_this_machines_own_text_and_json_tell_the_same() -> None:
    def said(*options: str) -> dict[tuple[str | int, ...], object]:
        done = subprocess.run(["ip", *options, "addr"], capture_output=True, text=True, timeout=10, check=True)
        return facts(done.stdout)

    plain, structured = said(), said("-j")
    assert plain
    assert plain == structured


@pytest.mark.skipif(shutil.which("ip") is None, reason="no ip program on this machine")
@pytest.mark.parametrize("options", [(), ("-d",), ("-j", "-d")], ids=["plain", "details", "json"])
def test_this_machines_ip_tells_what_the_probe_reads(options: tuple[str, ...]) -> None:
    done = subprocess.run(["ip", *options, "addr"], capture_output=True, text=True, timeout=10, check=True)
    facts_ = Facts()
    facts_.add("x", read_text("x", done.stdout).told)
    told = merged("n", "t", facts_).netdevs
    assert not isinstance(told, Unknown)
    probed = {one["name"]: one for one in read_netdevs()}
    assert {one.name for one in told} == set(probed)
    for one in told:
        probe = probed[one.name]
        assert (one.ifindex, one.mtu, one.operstate) == (probe["ifindex"], probe["mtu"], probe["operstate"])
        if not isinstance(one.carrier, Unknown):
            assert one.carrier == probe["carrier"]
        ours = {(entry.ip, entry.prefix, entry.scope) for entry in one.addresses}
        assert ours == {(entry["ip"], entry["prefix"], entry["scope"]) for entry in probe["addresses"]}
