"""Cables without CAP_NET_RAW: the kernel really refuses raw sockets, and multicast finds the same links.

The node's python is a program of the test that gives up its capabilities before it becomes the real python.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import Lab, LabSpec, open_lab
from fabricdoc.transport import NodeSpec
from tests.lab.cabling import (
    F0,
    F1,
    NO_LINK_LOCAL,
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
from tests.lab.conftest import Inside

pytestmark = pytest.mark.lab

CROSSED = [(f"alpha/{F0}", f"beta/{F1}", "cable"), (f"alpha/{F1}", f"beta/{F0}", "cable")]
CAP_NET_RAW = 13


@pytest.fixture(scope="module")
def lab(inside: Inside) -> Iterator[Lab]:
    """Two nodes whose link-local addresses are no longer being checked."""
    with open_lab(LabSpec()) as opened:
        for node in opened.nodes:
            done(inside(node.pid, SETTLED))
        yield opened


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A python without any capability."""
    return bare_python(tmp_path_factory.mktemp("bare"))


@pytest.fixture(autouse=True)
def no_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `sudo` in front of PATH that refuses, as it does who needs a password; the folder it is in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sudo").write_text("#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n")
    (folder / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_the_kernel_refuses_raw_sockets_to_that_python(lab: Lab, bare: str, inside: Inside) -> None:
    code = (
        "import subprocess, sys; sys.exit(subprocess.call([sys.argv[1], '-c', 'import socket; socket.socket(17, 3)']))"
    )
    refused = inside(lab.nodes[0].pid, code, bare)
    assert refused.returncode == 1
    assert "PermissionError: [Errno 1]" in refused.stderr


def test_without_raw_sockets_multicast_finds_the_same_links_and_says_so(lab: Lab, bare: str) -> None:
    fabric = mapped(specs_of(lab, python=bare))
    assert told(fabric) == CROSSED
    for link in links_of(fabric):
        assert link.proof.method == "multicast"
        assert min(link.proof.frames_a_to_b, link.proof.frames_b_to_a) >= 3
        assert link.a.mac
        assert link.b.mac
    assert found(fabric, "beacons-by-multicast", "port-not-probed", "port-without-peer") == [
        ("beacons-by-multicast", "alpha, beta")
    ]
    first, second = finding(fabric, "beacons-by-multicast", "alpha, beta").evidence
    assert (first.file, second.file) == ("alpha", "beta")
    assert "sudo: a password is required" in first.text
    assert second.text.endswith(f"; by multicast: {F0}, {F1}")


def test_a_node_with_raw_sockets_and_one_without_hear_one_another(lab: Lab, bare: str) -> None:
    specs = [*specs_of(lab, ["alpha"]), *specs_of(lab, ["beta"], python=bare)]
    fabric = mapped(specs)
    assert told(fabric) == CROSSED
    assert {link.proof.method for link in links_of(fabric)} == {"multicast"}
    assert found(fabric, "beacons-by-multicast") == [("beacons-by-multicast", "beta")]


def test_two_nodes_with_raw_sockets_keep_that_proof_beside_one_without(bare: str, inside: Inside) -> None:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as ring:
        for node in ring.nodes:
            done(inside(node.pid, SETTLED))
        fabric = mapped([*specs_of(ring, ["alpha", "beta"]), *specs_of(ring, ["gamma"], python=bare)])
    assert [(link.a.node, link.b.node, link.proof.method) for link in links_of(fabric)] == [
        ("alpha", "beta", "beacon"),
        ("alpha", "gamma", "multicast"),
        ("beta", "gamma", "multicast"),
    ]


def test_sudo_that_needs_no_password_gives_the_stronger_proof(lab: Lab, bare: str, no_sudo: Path) -> None:
    """Here `sudo` runs a copy of python whose file has CAP_NET_RAW, which is also how the fix line is followed."""
    raw = privileged_python(no_sudo.parent)
    (no_sudo / "sudo").write_text(f'#!/bin/sh\nshift 3\nexec {raw} "$@"\n')
    fabric = mapped(specs_of(lab, python=bare))
    assert told(fabric) == CROSSED
    assert {link.proof.method for link in links_of(fabric)} == {"beacon"}
    assert found(fabric, "beacons-by-multicast", "port-not-probed") == []


def privileged_python(folder: Path) -> Path:
    """A copy of this python with CAP_NET_RAW in its file (a version 2 capability, as setcap writes it)."""
    real = Path(sys.executable).resolve()
    for name in ("bin", "raw/bin"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    copy = folder / "raw" / "bin" / real.name
    copy.write_bytes(real.read_bytes())
    copy.chmod(0o755)
    (folder / "raw" / "lib").symlink_to(real.parent.parent / "lib")
    try:
        os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 1 << CAP_NET_RAW, 0, 0, 0))
    except PermissionError:
        pytest.skip("a file can't be given capabilities here: this needs root outside a user namespace")
    return copy


def test_a_port_without_link_local_address_is_said_with_its_fix(bare: str, inside: Inside) -> None:
    with open_lab(LabSpec()) as lab:
        for node in lab.nodes:
            done(inside(node.pid, SETTLED))
        done(inside(named(lab, "beta").pid, NO_LINK_LOCAL, F1))
        fabric = mapped(specs_of(lab, python=bare))
    assert told(fabric) == [CROSSED[1]]
    one = finding(fabric, "port-not-probed", f"beta/{F1}")
    assert "Operation not permitted (errno 1); multicast: no IPv6 link-local address" in one.evidence[0].text
    assert f"sudo sysctl -w net.ipv6.conf.{F1}.disable_ipv6=0" in one.fix
    assert found(fabric, "port-without-peer") == [("port-without-peer", f"alpha/{F0}")]


def test_addresses_that_are_still_being_checked_are_waited_for(bare: str) -> None:
    """A lab just made: duplicate address detection takes 1 to 2 seconds."""
    with open_lab(LabSpec()) as lab:
        fabric = mapped(specs_of(lab, python=bare))
    assert told(fabric) == CROSSED


def test_a_python_that_is_gone_by_then_costs_only_its_own_node(lab: Lab, tmp_path: Path) -> None:
    """Beta's python works once: for the scan."""
    once = tmp_path / "once"
    once.write_text(f'#!/bin/sh\nmkdir {tmp_path}/used 2>&- || exit 7\nexec {sys.executable} "$@"\n')
    once.chmod(0o755)
    specs = [*specs_of(lab, ["alpha"]), NodeSpec("beta", named(lab, "beta").target, python=str(once), ports=(F0, F1))]
    fabric = mapped(specs)
    assert told(fabric) == []
    assert "ended with status 7" in finding(fabric, "port-not-probed", "beta").evidence[0].text
    assert found(fabric, "port-without-peer") == [
        ("port-without-peer", f"alpha/{F0}"),
        ("port-without-peer", f"alpha/{F1}"),
    ]
