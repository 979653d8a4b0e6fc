"""Scanning real namespaces: what the nodes of a lab report, faults made in them, and a sysfs of another namespace."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.fabric import scan
from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from fabricdoc.transport import NodeSpec

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[2]
SCAN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from probes.scan import scan
sys.stdout.write(json.dumps(scan(10)))
"""


def scanned(lab: Lab) -> Fabric:
    return scan([NodeSpec(name=one.name, target=one.target) for one in lab.nodes], deadline_s=20)


def ports(node: Node) -> dict[str, Netdev]:
    assert not isinstance(node.netdevs, Unknown)
    return {netdev.name: netdev for netdev in node.netdevs}


def test_a_healthy_lab_is_reported_whole_and_without_error_or_warning(lab: Lab) -> None:
    fabric = scanned(lab)
    assert (fabric.failed, fabric.links) == ((), Unknown(unknown="not asked"))
    assert [one.name for one in fabric.nodes] == ["alpha", "beta"]
    assert [found.id for found in fabric.findings if found.severity != "info"] == []
    for node, made in zip(fabric.nodes, lab.nodes, strict=True):
        assert set(made.ports) < set(ports(node))
        assert node.host.kernel == Path("/proc/sys/kernel/osrelease").read_text().strip()


def test_lab_ports_are_veths_with_their_own_sysfs(lab: Lab) -> None:
    for node in scanned(lab).nodes:
        for name in ("enp1s0f0np0", "enp1s0f1np1"):
            port = ports(node)[name]
            assert (port.kind, port.mtu, port.carrier, port.operstate) == ("veth", 9000, True, "up")
            assert port.speed_mbps == 10000
            assert port.driver == Unknown(unknown="no device behind it (virtual)")


def test_crossed_rails_have_their_addresses_and_routes(lab: Lab) -> None:
    alpha, beta = scanned(lab).nodes
    assert [ports(alpha)[name].addresses[0].ip for name in ("enp1s0f0np0", "enp1s0f1np1")] == ["10.77.0.1", "10.77.1.1"]
    assert [ports(beta)[name].addresses[0].ip for name in ("enp1s0f0np0", "enp1s0f1np1")] == ["10.77.1.2", "10.77.0.2"]
    assert not isinstance(beta.routes, Unknown)
    assert {(route.destination, route.netdev) for route in beta.routes if route.family == "ipv4"} == {
        ("10.77.0.0/24", "enp1s0f1np1"),
        ("10.77.1.0/24", "enp1s0f0np0"),
    }


SMALLER = (
    "import socket, struct, fcntl; fcntl.ioctl(socket.socket(), 0x8922, struct.pack('16sI12x', b'enp1s0f0np0', 1500))"
)


def test_a_smaller_mtu_on_one_end_is_found(inside: Any) -> None:
    with open_lab(LabSpec()) as lab:
        ended = inside(lab.nodes[1].pid, SMALLER)
        assert ended.returncode == 0, ended.stderr
        (found,) = [one for one in scanned(lab).findings if one.severity != "info"]
    assert (found.id, found.subject) == ("mtu-mismatch", "10.77.1.0/24")
    assert found.fix[:2] == ("on beta:", "sudo ip link set dev enp1s0f0np0 mtu 9000")


def test_one_node_under_two_names_is_found(lab: Lab) -> None:
    target = lab.nodes[0].target
    fabric = scan([NodeSpec(name="one", target=target), NodeSpec(name="two", target=target)], deadline_s=20)
    assert [(one.id, one.subject) for one in fabric.findings] == [("same-node-twice", "one, two")]


def test_a_node_that_is_gone_is_listed_and_the_rest_is_read(lab: Lab) -> None:
    fabric = scan(
        [NodeSpec(name="alpha", target=lab.nodes[0].target), NodeSpec(name="gone", target="netns:/run/netns/no-such")],
        deadline_s=20,
    )
    assert [one.name for one in fabric.nodes] == ["alpha"]
    assert [(one.name, bool(one.message)) for one in fabric.failed] == [("gone", True)]


def network_only(pid: int) -> list[str]:
    """The words that run a command in a node's network namespace, with this test's own sysfs."""
    nsenter = shutil.which("nsenter")
    assert nsenter, "util-linux is part of every Linux"
    words = [nsenter, f"--net=/proc/{pid}/ns/net"]
    if Path(f"/proc/{pid}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
        words += [f"--user=/proc/{pid}/ns/user", "--preserve-credentials"]
    return words


def test_a_network_namespace_with_another_ones_sysfs_misleads_nobody(lab: Lab) -> None:
    command = [*network_only(lab.nodes[0].pid), sys.executable, "-I", "-c", SCAN, str(ROOT)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    (port,) = [one for one in json.loads(ended.stdout)["netdevs"] if one["name"] == "enp1s0f0np0"]
    virtual = {"unknown": "no device behind it (virtual)"}
    assert (port["driver"], port["pci"], port["qos"]) == (virtual, virtual, virtual)
    assert (port["mtu"], port["speed_mbps"], port["addresses"][0]["ip"]) == (9000, 10000, "10.77.0.1")
