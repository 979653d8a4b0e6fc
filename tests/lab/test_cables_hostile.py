"""Beacons among hostile machines: forged, replayed, cut and endless frames on a real segment make no link.

Mallory sits on the same switch as alpha and beta, hears every frame they send, and is not among the nodes.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.fabric import Fabric
from tests.lab.cabling import (
    F0,
    F1,
    SETTLED,
    bare_python,
    done,
    finding,
    found,
    links_of,
    mapped,
    named,
    specs_of,
    told,
)
from tests.lab.conftest import Inside, StartInside

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]

NAMES = ("alpha", "beta")
STRAIGHT = [(f"alpha/{F0}", f"beta/{F0}"), (f"alpha/{F1}", f"beta/{F1}")]

# what Mallory's programs share: a raw socket on a port, and frames that claim to be alpha's
START = """
import hashlib, hmac, json, os, socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
raw.bind((sys.argv[1], 0x88B5))
own = raw.getsockname()[4]
def frame(payload): return b'\\xff' * 6 + own + b'\\x88\\xb5' + payload
def sealed(nonce, body, key=b'k' * 32, length=None):
    signed = nonce + (len(body) if length is None else length).to_bytes(2, 'big') + body
    return frame(signed + hmac.new(key, signed, hashlib.sha256).digest())
alpha = json.dumps({'node': 'alpha', 'netdev': 'enp1s0f1np1', 'mac': '02:00:00:00:00:01'}).encode()
print('ready', flush=True)
"""
# answers the first frame heard with every kind of forgery, then goes on with each that follows
FORGE = (
    START
    + """
heard = []
while True:
    got = raw.recv(2048)
    if got[6:12] == own: continue
    nonce = got[14:22]
    for payload in (
        sealed(nonce, alpha), sealed(nonce, b'not JSON'), sealed(nonce, b'[]'), sealed(nonce, b'\\xff\\xfe'),
        sealed(nonce, b'{"node":"' + b'a' * 1300 + b'"}'), sealed(nonce, alpha, length=60000), sealed(nonce, b''),
        got[:40], got[:14] + nonce, got[:60] + b'x' + got[61:], frame(nonce), frame(b''), frame(b'\\0' * 1400),
    ):
        raw.send(payload)
"""
)
# keeps the frames of one run and sends them, and nothing else, into the next
REPLAY = (
    START
    + """
kept = [raw.recv(2048)]
raw.settimeout(1)
try:
    while len(kept) < 50: kept.append(raw.recv(2048))
except TimeoutError:
    pass
print('kept', len(kept), flush=True)
raw.settimeout(None)
while raw.recv(2048)[14:22] == kept[0][14:22]: pass
for one in kept: raw.send(one)
print('sent', flush=True)
sys.stdin.read()
"""
)
FLOOD = (
    START
    + """
nonce = raw.recv(2048)[14:22] if sys.argv[2] == 'forged' else b'stranger'
payload = sealed(nonce, alpha)
print('flooding', flush=True)
while True:
    for _ in range(1000): raw.send(payload)
"""
)


# the same by the multicast that nodes without raw sockets speak; needs no right at all
FLOOD_UDP = """
import socket, sys
index = socket.if_nametoindex(sys.argv[1])
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
udp.bind(('ff02::1', 18613, 0, index))
print('ready', flush=True)
nonce = udp.recv(2048)[:8] if sys.argv[2] == 'forged' else b'stranger'
print('flooding', flush=True)
while True:
    udp.sendto(nonce + bytes(100), ('ff02::1', 18613, 0, index))
"""


@pytest.fixture(scope="module")
def segment() -> Iterator[Lab]:
    """Alpha, beta and mallory on one bridge per rail."""
    with open_lab(LabSpec(nodes=("alpha", "beta", "mallory"), cabling="straight")) as opened:
        yield opened


def started(segment: Lab, start_inside: StartInside, program: str, *words: str) -> subprocess.Popen[str]:
    process = start_inside(named(segment, "mallory").pid, program, F0, *words)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def stray_frames(fabric: Fabric, node: str) -> int:
    """How many strays the finding tells of this node's first port, 0 where none came by."""
    lines = finding(fabric, "stray-beacons", "fabric").evidence
    counts = [line.text.split()[1] for line in lines if line.file == node and line.text.startswith(f"{F0}: ")]
    return sum(map(int, counts))


def test_forged_frames_with_the_right_nonce_make_no_link(segment: Lab, start_inside: StartInside) -> None:
    """Mallory says she is alpha's other port, and sends every kind of broken frame: ignored, and counted by port."""
    forger = started(segment, start_inside, FORGE)
    for _ in range(5):  # a starved forger's frames come after the exchange, which may take a tenth of a second
        fabric = mapped(specs_of(segment, NAMES))
        if found(fabric, "stray-beacons") and min(stray_frames(fabric, one) for one in ("alpha", "beta")) >= 13:
            break
    assert forger.poll() is None
    assert [(a, b) for a, b, _ in told(fabric)] == STRAIGHT
    assert all(min(link.proof.frames_a_to_b, link.proof.frames_b_to_a) >= 6 for link in links_of(fabric))
    assert stray_frames(fabric, "alpha") >= 13
    assert stray_frames(fabric, "beta") >= 13
    others = [line.text for line in finding(fabric, "stray-beacons", "fabric").evidence if line.text.startswith(F1)]
    assert others == [], "nothing was forged on the second rail"
    assert found(fabric, "port-not-probed", "link-one-way", "port-without-peer", "port-hears-itself") == []


def test_frames_of_another_run_make_no_link_in_this_one(segment: Lab, start_inside: StartInside) -> None:
    """The first run has alpha's first port on the switch; in the second it takes no part, but its frames are there."""
    replayer = started(segment, start_inside, REPLAY)
    assert len(told(mapped(specs_of(segment, NAMES)))) == 2
    kept = said(replayer)
    assert kept[0] == "kept"
    assert int(kept[1]) >= 12
    fabric = mapped(specs_of(segment, NAMES))
    assert said(replayer) == ["sent"]
    assert [(a, b) for a, b, _ in told(fabric)] == STRAIGHT
    assert stray_frames(fabric, "alpha") + stray_frames(fabric, "beta") >= 1


@pytest.mark.parametrize("kind", ["strange", "forged"])
def test_a_flood_of_frames_neither_hides_the_links_nor_delays_their_proof(
    segment: Lab, start_inside: StartInside, kind: str
) -> None:
    """`strange` frames stop at the kernel's filter; `forged` ones have the run's nonce and must be read and refused."""
    flood = started(segment, start_inside, FLOOD, kind)
    if kind == "strange":
        assert said(flood) == ["flooding"]
    specs = specs_of(segment, NAMES)
    seen = scan(specs, deadline_s=20)
    began = time.monotonic()
    fabric = map_cables(specs, seen)
    took = time.monotonic() - began
    assert flood.poll() is None
    assert took < 60, "a step that waited for its deadline takes longer"
    assert [(a, b) for a, b, _ in told(fabric)] == STRAIGHT
    assert {one.id for one in fabric.findings} >= {"stray-beacons"}
    assert stray_frames(fabric, "alpha") > 20, "however few a starved flooder sends"
    assert found(fabric, "port-not-probed", "link-one-way", "port-without-peer") == []


@pytest.mark.parametrize("kind", ["strange", "forged"])
def test_a_flood_of_multicast_does_not_hide_links_from_who_has_no_raw_sockets(
    segment: Lab, start_inside: StartInside, inside: Inside, tmp_path: Path, kind: str
) -> None:
    for node in segment.nodes:
        done(inside(node.pid, SETTLED))
    flood = started(segment, start_inside, FLOOD_UDP, kind)
    if kind == "strange":
        assert said(flood) == ["flooding"]
    fabric = mapped(specs_of(segment, NAMES, python=bare_python(tmp_path)))
    assert flood.poll() is None
    assert [(a, b) for a, b, _ in told(fabric)] == STRAIGHT
    assert {link.proof.method for link in links_of(fabric)} == {"multicast"}
    assert stray_frames(fabric, "alpha") + stray_frames(fabric, "beta") > 20, "however few a starved flooder sends"
    assert found(fabric, "port-not-probed", "link-one-way", "port-without-peer") == []
