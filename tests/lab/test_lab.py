"""The CPU lab on the real kernel: what meets what, what a node is, and that the host's network is untouched."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricdoc.lab import Lab, LabNode, LabSpec, open_lab

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
PORTS = ("enp1s0f0np0", "enp1s0f1np1")
GONE_S = 10.0

SEND_FRAME = """
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((sys.argv[1], 0x88B6))
raw.send(b"\\xff" * 6 + raw.getsockname()[4] + b"\\x88\\xb6" + sys.argv[2].encode().ljust(int(sys.argv[3]), b"."))
"""
HEAR_FRAMES = """
import select, socket, sys
opened = {}
for port in sys.argv[2:]:
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B6))
    raw.bind((port, 0x88B6))
    opened[raw] = port
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    ready = select.select(list(opened), [], [], 10)[0]
    data = ready[0].recv(70000)
    print(opened[ready[0]], data[14:].rstrip(b".").decode(), len(data), flush=True)
"""
SERVE_TCP = """
import socket, sys
listener = socket.socket()
listener.settimeout(10)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[2].encode())
listener.bind((sys.argv[1], 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
accepted, peer = listener.accept()
accepted.settimeout(20)
total = 0
while chunk := accepted.recv(65536):
    total += len(chunk)
print(peer[0], total, flush=True)
"""
CALL_TCP = """
import socket, sys, time
caller = socket.socket()
caller.settimeout(20)
caller.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[3].encode())
caller.connect((sys.argv[1], int(sys.argv[2])))
begin = time.monotonic()
caller.sendall(b"x" * int(sys.argv[4]))
caller.shutdown(socket.SHUT_WR)
caller.recv(1)
print(time.monotonic() - begin)
"""


def _links() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


def _heard(start_inside: Callable[..., subprocess.Popen[str]], listener: LabNode, count: int) -> subprocess.Popen[str]:
    process = start_inside(listener.pid, HEAR_FRAMES, count, *listener.ports)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def _call(
    start_inside: Callable[..., subprocess.Popen[str]],
    inside: Callable[..., subprocess.CompletedProcess[str]],
    ends: tuple[tuple[LabNode, int], tuple[LabNode, int]],
    size: int = 1,
) -> tuple[str, int, float]:
    """TCP from one (node, port) to another: the address the server saw, the bytes it got, the caller's seconds."""
    (client, client_port), (server, server_port) = ends
    serving = start_inside(server.pid, SERVE_TCP, server.addresses[server_port], server.ports[server_port])
    assert serving.stdout is not None
    number = serving.stdout.readline().strip()
    called = inside(
        client.pid, CALL_TCP, server.addresses[server_port], number, client.ports[client_port], size, timeout=30
    )
    assert called.returncode == 0, called.stderr
    peer, total = serving.stdout.readline().split()
    return peer, int(total), float(called.stdout)


# --- what meets what


@pytest.mark.parametrize("cabling", ["straight", "crossed"])
def test_a_frame_arrives_at_the_port_the_cabling_says_and_nowhere_else(
    cabling: str,
    inside: Callable[..., subprocess.CompletedProcess[str]],
    start_inside: Callable[..., subprocess.Popen[str]],
) -> None:
    with open_lab(LabSpec(cabling=cabling)) as lab:
        alpha, beta = lab.nodes
        listening = _heard(start_inside, beta, 2)
        for port in alpha.ports:
            assert inside(alpha.pid, SEND_FRAME, port, f"from-{port}", 100).returncode == 0
        assert listening.stdout is not None
        heard = {tuple(line.split()[:2]) for line in listening.stdout}
    far = PORTS if cabling == "straight" else PORTS[::-1]
    assert heard == {(there, f"from-{here}") for here, there in zip(PORTS, far, strict=True)}


def test_tcp_runs_over_each_rail_between_its_addresses(
    lab: Lab,
    inside: Callable[..., subprocess.CompletedProcess[str]],
    start_inside: Callable[..., subprocess.Popen[str]],
) -> None:
    alpha, beta = lab.nodes
    assert alpha.addresses == ("10.77.0.1", "10.77.1.1")
    assert beta.addresses == ("10.77.1.2", "10.77.0.2")
    assert alpha.ports == beta.ports == PORTS
    assert [node.target for node in lab.nodes] == [f"netns:{node.pid}" for node in lab.nodes]
    for port in (0, 1):
        peer, total, _ = _call(start_inside, inside, ((alpha, port), (beta, 1 - port)))
        assert (peer, total) == (alpha.addresses[port], 1)
    refused = inside(alpha.pid, CALL_TCP.replace("settimeout(20)", "settimeout(0.5)"), "10.77.0.2", 9, PORTS[1], 1)
    assert refused.returncode != 0, "rail 0's peer answered on rail 1"


def test_three_nodes_share_every_rail(
    inside: Callable[..., subprocess.CompletedProcess[str]],
    start_inside: Callable[..., subprocess.Popen[str]],
) -> None:
    with open_lab(LabSpec(nodes=("a", "b", "c"), rails=2, mtu=4000)) as lab:
        rail1 = [(node, node.addresses.index(f"10.77.1.{i + 1}")) for i, node in enumerate(lab.nodes)]
        assert [port for _, port in rail1] == [1, 0, 1]
        for one, other in itertools.combinations(rail1, 2):
            peer, total, _ = _call(start_inside, inside, (one, other), 100_000)
            assert (peer, total) == (one[0].addresses[one[1]], 100_000)
        listening = [_heard(start_inside, node, 1) for node in lab.nodes[1:]]
        assert inside(lab.nodes[0].pid, SEND_FRAME, PORTS[0], "rail0", 3900).returncode == 0
        lines = [process.stdout.readline().split() for process in listening if process.stdout]
        assert lines == [[PORTS[1], "rail0", "3914"], [PORTS[0], "rail0", "3914"]]


# --- what a node is


def test_a_node_has_its_own_hostname_and_sysfs(
    lab: Lab, inside: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    own = socket.gethostname()
    code = "import os, socket; print(socket.gethostname(), *sorted(os.listdir('/sys/class/net')))"
    for node in lab.nodes:
        assert node.notes == ()
        assert inside(node.pid, code).stdout.split() == [node.name, *PORTS, "lo"]
    assert socket.gethostname() == own
    assert {entry.name for entry in Path("/sys/class/net").iterdir()} == _links()


def test_ports_are_up_with_the_mtu_asked_for_as_soon_as_the_lab_is_open(
    inside: Callable[..., subprocess.CompletedProcess[str]],
    start_inside: Callable[..., subprocess.Popen[str]],
) -> None:
    code = (
        "import sys\n"
        "files = [f'/sys/class/net/{port}/{file}' for port in sys.argv[1:] for file in ('mtu', 'operstate')]\n"
        "print(*(open(file).read().strip() for file in files))"
    )
    loopback = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 5)"
    with open_lab(LabSpec(mtu=5000, cabling="straight")) as lab:
        for node in lab.nodes:
            assert inside(node.pid, code, *node.ports).stdout.split() == ["5000", "up"] * 2
            assert inside(node.pid, loopback).returncode == 0
        listening = _heard(start_inside, lab.nodes[1], 1)
        assert inside(lab.nodes[0].pid, SEND_FRAME, PORTS[0], "whole", 5000).returncode == 0
        assert listening.stdout is not None
        assert listening.stdout.readline().split() == [PORTS[0], "whole", "5014"]
        assert "Message too long" in inside(lab.nodes[0].pid, SEND_FRAME, PORTS[0], "long", 5001).stderr


def test_a_rate_is_a_tbf_on_every_end_and_limits(
    inside: Callable[..., subprocess.CompletedProcess[str]],
    start_inside: Callable[..., subprocess.Popen[str]],
) -> None:
    code = """
import json
from pyroute2 import IPRoute
with IPRoute() as ip:
    names = {link["index"]: link.get("ifname") for link in ip.get_links()}
    limits = [queue for queue in ip.get_qdiscs() if queue.get_attr("TCA_KIND") == "tbf"]
rates = {names[queue["index"]]: queue.get_nested("TCA_OPTIONS", "TCA_TBF_PARMS")["rate"] for queue in limits}
print(json.dumps(rates))
"""
    with open_lab(LabSpec(rate_mbit=8)) as lab:
        for node in lab.nodes:
            shown = inside(node.pid, code)
            assert json.loads(shown.stdout) == dict.fromkeys(PORTS, 1_000_000), shown.stderr
        _, total, seconds = _call(start_inside, inside, ((lab.nodes[0], 0), (lab.nodes[1], 1)), 1_000_000)
        assert total == 1_000_000
        assert seconds > 0.5, "a megabyte less the burst of 262144 bytes takes 0.7 s at 8 Mbit/s"


def test_no_tbf_without_a_rate(lab: Lab, inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    code = "from pyroute2 import IPRoute\nwith IPRoute() as ip: print(*(q.get('kind') for q in ip.get_qdiscs()))"
    assert set(inside(lab.nodes[0].pid, code).stdout.split()) <= {"noqueue", "pfifo_fast", "fq_codel"}


def test_the_hosts_network_is_untouched_while_a_lab_stands(lab: Lab) -> None:
    before = _links()
    routes = Path("/proc/net/route").read_text()
    with open_lab(LabSpec(nodes=("a", "b", "c"))) as other:
        assert _links() == before
        assert Path("/proc/net/route").read_text() == routes
        holders: tuple[object, ...] = (
            "self",
            lab.holder,
            other.holder,
            *(node.pid for node in other.nodes + lab.nodes),
        )
        assert len({Path(f"/proc/{pid}/ns/net").readlink() for pid in holders}) == 8
    assert _links() == before
