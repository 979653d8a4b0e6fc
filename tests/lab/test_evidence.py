"""LLDP, datagrams and TCP on real interfaces: what they add to the map, and that none of them bends it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fabricdoc.fabric import cables, hear_lldp, map_cables, scan
from fabricdoc.fabric.heard import Heard
from fabricdoc.lab import Lab, LabNode, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec
from tests.lab.conftest import CLONE_FLAGS, Inside, StartInside
from tests.lldp import lldpdu

pytestmark = pytest.mark.lab

F0, F1 = "enp1s0f0np0", "enp1s0f1np1"


def specs_of(lab: Lab, ports: tuple[str, ...] | None = None) -> list[NodeSpec]:
    return [NodeSpec(name=one.name, target=one.target, ports=ports or one.ports) for one in lab.nodes]


def mapped(lab: Lab) -> Fabric:
    specs = specs_of(lab)
    return map_cables(specs, scan(specs, deadline_s=10))


def links(fabric: Fabric) -> Sequence[Link]:
    assert not isinstance(fabric.links, Unknown), fabric.links
    return fabric.links


def pairs(fabric: Fabric) -> list[tuple[str, str]]:
    return [(f"{one.a.node}/{one.a.netdev}", f"{one.b.node}/{one.b.netdev}") for one in links(fabric)]


def of_id(fabric: Fabric, id: str) -> list[Finding]:
    return [one for one in fabric.findings if one.id == id]


def test_a_healthy_pair_is_backed_by_pings_and_nothing_is_found(lab: Lab) -> None:
    fabric = mapped(lab)
    for one in links(fabric):
        (proof,) = one.more_proofs
        assert (proof.method, proof.frames_a_to_b, proof.frames_b_to_a) == ("ping", 2, 2)
        assert f"to beta {one.b.ip}: 56 and 8972 bytes arrived; to alpha {one.a.ip}: 56 and 8972 bytes arrived" in (
            proof.detail
        )
        assert "instead of" not in proof.detail
    assert [one for one in fabric.findings if one.severity != "info"] == []
    assert of_id(fabric, "reached-by-ping-only") == []


SET_ADDRESSES = """
import sys, pyroute2
ip = pyroute2.IPRoute()
for word in sys.argv[1:]:
    name, address = word.split("=")
    index = ip.link_lookup(ifname=name)[0]
    ip.flush_addr(index=index)
    ip.addr("add", index=index, address=address, prefixlen=24)
"""

PING = """
import socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.settimeout(5)
here.sendto(b"x", (sys.argv[1], 7777))
print(here.recv(10))
"""

ECHO = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("0.0.0.0", 7777))
print("ready", flush=True)
data, sender = here.recvfrom(10)
here.sendto(data, sender)
"""


def test_with_swapped_addresses_a_ping_succeeds_and_the_map_stays_right(
    inside: Inside, start_inside: StartInside
) -> None:
    """The ports of both nodes have equal names; straight cables, the addresses of beta are on each other's port."""
    with open_lab(LabSpec(cabling="straight")) as lab:
        alpha, beta = lab.nodes
        swapped = (f"{F0}={beta.addresses[1]}", f"{F1}={beta.addresses[0]}")
        assert inside(beta.pid, SET_ADDRESSES, *swapped).returncode == 0
        server = start_inside(beta.pid, ECHO)
        assert server.stdout is not None and server.stdout.readline() == "ready\n"
        assert inside(alpha.pid, PING, beta.addresses[0]).stdout == "b'x'\n"
        fabric = mapped(lab)
    assert pairs(fabric) == [(f"alpha/{F0}", f"beta/{F0}"), (f"alpha/{F1}", f"beta/{F1}")]
    assert [one.proof.method for one in links(fabric)] == ["beacon", "beacon"]
    assert [one.more_proofs for one in links(fabric)] == [(), ()]
    weak = of_id(fabric, "reached-by-ping-only")
    assert [one.subject for one in weak] == [f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"]
    assert {one.severity for one in weak} == {"info"}
    # the datagram to the address of F1 came in by F0, where the cable is
    assert f"{F0} {alpha.addresses[0]} reaches {beta.addresses[0]} of beta/{F1}, where it came in by {F0}" in [
        one.text for one in weak[0].evidence
    ]
    assert [one.subject for one in of_id(fabric, "addresses-swapped-between-rails")] == [f"beta: {F0}, {F1}"]


def test_without_beacons_pings_alone_make_no_link(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every port answers pings; as nobody may send a frame, there is no link all the same."""
    refused = {(one.name, port): "Operation not permitted (errno 1)" for one in lab.nodes for port in one.ports}
    monkeypatch.setattr(cables, "exchange", lambda *_words: Heard(refused=refused))
    fabric = mapped(lab)
    assert isinstance(fabric.links, Unknown)
    assert of_id(fabric, "reach-not-tried") == []


BLOCK = """
import sys, pyroute2
kind, address, verb = sys.argv[1:]
pyroute2.IPRoute().route(verb, dst=f"{address}/32", type=kind)
"""


@contextmanager
def answers_blocked(inside: Inside, node: LabNode, address: str, kind: str) -> Iterator[None]:
    """What `node` sends to `address` is dropped (blackhole) or refused (prohibit): as its own filter might."""
    assert inside(node.pid, BLOCK, kind, address, "add").returncode == 0
    try:
        yield
    finally:
        assert inside(node.pid, BLOCK, kind, address, "del").returncode == 0


def test_bootstrap_dropped_is_told_apart_from_the_way_back(lab: Lab, inside: Inside) -> None:
    """beta's answers to alpha vanish: alpha's SYNs get no answer, beta's can't even leave."""
    alpha, beta = lab.nodes
    with answers_blocked(inside, beta, alpha.addresses[0], "blackhole"):
        fabric = mapped(lab)
    blocked = {one.subject: one for one in of_id(fabric, "bootstrap-port-blocked")}
    ends = links(fabric)[0]
    assert (ends.a.netdev, ends.b.netdev) == (F0, F1)
    there = blocked[f"alpha -> beta {ends.b.ip}"]
    assert (there.severity, there.evidence[0].file) == ("error", "alpha")
    assert f"tcp from {F0} {ends.a.ip} to {ends.b.ip}:" in there.evidence[0].text
    assert "(a port of the ephemeral range) got no answer" in there.evidence[0].text
    assert f"on beta, accept what comes in on {F1}" in there.fix[0]
    back = blocked[f"beta -> alpha {ends.a.ip}"]
    assert [one.file for one in back.evidence[:2]] == ["beta", "beta"]
    assert [word in one.text for one, word in zip(back.evidence, ("ephemeral", "rendezvous"), strict=False)] == [
        True
    ] * 2
    # frames pass all the same, and so would RDMA
    assert pairs(fabric) == [(f"alpha/{F0}", f"beta/{F1}"), (f"alpha/{F1}", f"beta/{F0}")]


def test_bootstrap_prohibited_at_the_dialler(lab: Lab, inside: Inside) -> None:
    alpha, beta = lab.nodes
    with answers_blocked(inside, alpha, beta.addresses[1], "prohibit"):
        fabric = mapped(lab)
    (there,) = [one for one in of_id(fabric, "bootstrap-port-blocked") if one.subject.startswith("alpha")]
    assert "could not be sent" in there.evidence[0].text
    assert there.fix[1] == f"ip route get {beta.addresses[1]}"


def test_a_rendezvous_port_in_use_is_named_with_its_process(lab: Lab, start_inside: StartInside) -> None:
    code = (
        "import socket, sys; s = socket.create_server(('0.0.0.0', 29500)); print('ready', flush=True); sys.stdin.read()"
    )
    server = start_inside(lab.nodes[0].pid, code)
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    fabric = mapped(lab)
    (taken,) = of_id(fabric, "rendezvous-port-taken")
    assert taken.subject == f"alpha {lab.nodes[0].addresses[0]}:29500"
    assert "in use by python" in taken.evidence[0].text
    assert of_id(fabric, "bootstrap-port-blocked") == []


def test_large_frames_lost_between_two_ends_that_allow_them(inside: Inside) -> None:
    """Three nodes on one bridge a rail; the bridge's own port to beta has an MTU of 1500, all nodes have 9000."""
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="straight", rails=1)) as lab:
        assert set_bridge_port(lab, "rail0node1", 1500) == 1500
        fabric = mapped(lab)
    assert {(one.kind, one.a.node, one.b.node) for one in links(fabric)} == {
        ("segment", "alpha", "beta"),
        ("segment", "alpha", "gamma"),
        ("segment", "beta", "gamma"),
    }
    holes = {one.subject: one for one in of_id(fabric, "mtu-black-hole")}
    assert sorted(holes) == [f"alpha/{F0} - beta/{F0}", f"beta/{F0} - gamma/{F0}"]
    hole = holes[f"alpha/{F0} - beta/{F0}"]
    assert hole.severity == "error"
    assert hole.evidence[0].text == (
        f"{F0} 10.77.0.1 to beta/{F0} 10.77.0.2: 56 bytes arrived, 8972 bytes (a frame of the MTU) did not, DF set"
    )
    assert {one.file for one in hole.evidence} == {"alpha", "beta"}
    (proof,) = next(one for one in links(fabric) if (one.a.node, one.b.node) == ("alpha", "gamma")).more_proofs
    assert (proof.frames_a_to_b, proof.frames_b_to_a) == (2, 2)


def set_bridge_port(lab: Lab, name: str, mtu: int) -> int:
    """The MTU of a bridge's port, which is in the holder's network namespace, after setting it."""
    code = (
        "import sys, pyroute2\nip = pyroute2.IPRoute()\nindex = ip.link_lookup(ifname=sys.argv[1])[0]\n"
        "ip.link('set', index=index, mtu=int(sys.argv[2]))\nprint(ip.get_links(index)[0].get('mtu'))"
    )

    def enter() -> None:
        flags = CLONE_FLAGS["net"]
        if Path(f"/proc/{lab.holder}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
            flags |= CLONE_FLAGS["user"]
        assert ctypes.CDLL(None).setns(os.pidfd_open(lab.holder), flags) == 0

    words = [sys.executable, "-c", code, name, str(mtu)]
    done = subprocess.run(words, preexec_fn=enter, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


LLDP_SENDER = """
import socket, sys, time
here, data = sys.argv[1], bytes.fromhex(sys.argv[2])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
raw.bind((here, 0))
mac = raw.getsockname()[4]
frame = bytes.fromhex("0180c200000e") + mac + bytes.fromhex("88cc") + data.replace(b"@MAC@@", mac)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end:
    raw.send(frame.ljust(60, bytes(1)))
    time.sleep(0.2)
"""


def says(start_inside: StartInside, node: LabNode, port: str, payload: bytes) -> None:
    """Real LLDP frames leave a port of a node, five a second, until the test's end; @MAC@@ becomes the port's MAC."""
    sender = start_inside(node.pid, LLDP_SENDER, port, payload.hex())
    assert sender.stdout is not None and sender.stdout.readline() == "ready\n"


def own_words(name: str, port: str) -> bytes:
    return lldpdu(chassis=b"\x04@MAC@@", port=b"\x03@MAC@@", system=name.encode(), description=port.encode())


def heard(lab: Lab, seconds: float = 1.5) -> Fabric:
    specs = specs_of(lab)
    return hear_lldp(specs, scan(specs, deadline_s=10), lambda _line: None, seconds)


def test_lldp_alone_makes_the_links_where_nobody_may_send_beacons(
    lab: Lab, start_inside: StartInside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crossed cables, equal port names on both nodes; beta's frames lie about its name."""
    for node in lab.nodes:
        for port in node.ports:
            says(start_inside, node, port, own_words("alpha", port))
    refused = {(one.name, port): "Operation not permitted (errno 1)" for one in lab.nodes for port in one.ports}
    monkeypatch.setattr(cables, "exchange", lambda *_words: Heard(refused=refused))
    fabric = map_cables(specs_of(lab), heard(lab))
    assert pairs(fabric) == [(f"alpha/{F0}", f"beta/{F1}"), (f"alpha/{F1}", f"beta/{F0}")]
    for one in links(fabric):
        assert (one.kind, one.proof.method, one.proof.frames_a_to_b, one.proof.frames_b_to_a) == ("cable", "lldp", 1, 1)
        assert [proof.method for proof in one.more_proofs] == ["ping"]


def test_lldp_backs_what_beacons_prove_and_a_switch_is_named(lab: Lab, start_inside: StartInside) -> None:
    alpha, beta = lab.nodes
    says(start_inside, beta, F1, own_words("beta", F1))
    leaf = lldpdu(chassis=b"\x04\x0c\0\0\0\0\1", port=b"\x05Ethernet1/7", system=b"leaf1", enabled=0x0004)
    says(start_inside, beta, F0, leaf)
    fabric = map_cables(specs_of(lab), heard(lab))
    first, second = links(fabric)
    assert (first.a.netdev, first.b.netdev, first.proof.method) == (F0, F1, "beacon")
    assert [one.method for one in first.more_proofs] == ["lldp", "ping"]
    assert (first.more_proofs[0].frames_a_to_b, first.more_proofs[0].frames_b_to_a) == (0, 1)
    assert [one.method for one in second.more_proofs] == ["ping"]
    (switch,) = of_id(fabric, "port-behind-switch")
    assert (switch.subject, switch.evidence[0].file, switch.evidence[0].text) == (
        "switch leaf1",
        "alpha",
        f"{F1} is on its port Ethernet1/7",
    )
    assert of_id(fabric, "lldp-contradicts-beacons") == []
    assert alpha.name == "alpha"


def test_forged_lldp_does_not_move_a_cable(lab: Lab, start_inside: StartInside) -> None:
    """beta's F1 says that it is beta's F0: the frames decide, and both ends are named."""
    beta = lab.nodes[1]
    specs = specs_of(lab)
    before = scan(specs, deadline_s=10)
    netdevs = before.nodes[1].netdevs
    assert not isinstance(netdevs, Unknown)
    mac = bytes.fromhex(str(next(one.mac for one in netdevs if one.name == F0)).replace(":", ""))
    says(start_inside, beta, F1, lldpdu(chassis=b"\x04" + mac, port=b"\x03" + mac, system=b"beta"))
    fabric = map_cables(specs, hear_lldp(specs, before, lambda _line: None, 1.5))
    assert pairs(fabric) == [(f"alpha/{F0}", f"beta/{F1}"), (f"alpha/{F1}", f"beta/{F0}")]
    (finding,) = of_id(fabric, "lldp-contradicts-beacons")
    assert (finding.severity, finding.subject) == ("warning", f"alpha/{F0} - beta/{F0}")


def test_a_flood_of_lldp_is_bounded_and_the_map_stands(lab: Lab, start_inside: StartInside) -> None:
    flood = """
import socket, sys, time
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
raw.bind((sys.argv[1], 0))
print("ready", flush=True)
end = time.monotonic() + 30
number = 0
while time.monotonic() < end:
    number += 1
    name = b"\\x07x%06d" % number
    body = bytes([2, len(name)]) + name + bytes([4, len(name)]) + name + b"\\x06\\x02\\x00\\x78\\x00\\x00"
    raw.send(bytes.fromhex("0180c200000e02000000000188cc") + body.ljust(46, b"\\0"))
    time.sleep(0.001)
"""
    sender = start_inside(lab.nodes[1].pid, flood, F1)
    assert sender.stdout is not None and sender.stdout.readline() == "ready\n"
    fabric = map_cables(specs_of(lab), heard(lab))
    told = fabric.nodes[0].lldp
    assert not isinstance(told, Unknown)
    assert len(told) == 64
    assert pairs(fabric) == [(f"alpha/{F0}", f"beta/{F1}"), (f"alpha/{F1}", f"beta/{F0}")]
    assert [one.subject for one in of_id(fabric, "lldp-unknown-neighbour")] == [f"alpha/{F0}"]
