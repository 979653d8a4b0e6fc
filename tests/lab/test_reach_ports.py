"""TCP on the ports of the user's launcher, and fabrics that have only IPv6: real sockets between a lab's nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabricdoc.fabric import every_kind, map_cables, scan
from fabricdoc.lab import Lab, LabNode, LabSpec, open_lab
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from tests.lab.cabling import F0, F1, LINK, done, links_of, named, specs_of
from tests.lab.conftest import Inside, StartInside

pytestmark = pytest.mark.lab

BLOCK = "import sys, pyroute2; pyroute2.IPRoute().route('add', dst=sys.argv[1] + '/32', type='blackhole')"
ONLY_SIX = LINK + (
    "ip.flush_addr(index=at, family=2); ip.addr('add', index=at, address=sys.argv[2], prefixlen=64, flags=2)"  # nodad
)
BLOCK_SIX = (
    "import sys, pyroute2; pyroute2.IPRoute().route('add', family=10, dst=sys.argv[1] + '/128', type='blackhole')"
)
HOLD = (
    "import socket, sys; s = socket.create_server(('', int(sys.argv[1]))); print('ready', flush=True); sys.stdin.read()"
)


@pytest.fixture
def pair() -> Iterator[Lab]:
    with open_lab(LabSpec()) as opened:
        yield opened


def reached(lab: Lab, *ports: int) -> Fabric:
    specs = specs_of(lab)
    return map_cables(specs, scan(specs, deadline_s=20), evidence=every_kind(ports))


def of_id(fabric: Fabric, id_: str) -> dict[str, Finding]:
    return {one.subject: one for one in fabric.findings if one.id == id_}


def test_the_launchers_ports_are_dialled_both_ways(pair: Lab, inside: Inside) -> None:
    """What is blocked shows what was tried: beta's way to alpha, on each of the ports."""
    beta_to = links_of(reached(pair, 5601, 29511))[0].a.ip
    assert beta_to
    done(inside(named(pair, "beta").pid, BLOCK, beta_to))
    blocked = of_id(reached(pair, 5601, 29511), "bootstrap-port-blocked")
    there, back = (blocked[key] for key in sorted(blocked))
    for finding in (there, back):
        tried = [one.text.split(" (")[0].rpartition(":")[2] for one in finding.evidence if one.text.startswith("tcp")]
        assert tried[1:] == ["5601", "29511"]
        assert len(tried) == 3 and tried[0].isdigit()
    assert back.subject == f"beta -> alpha {beta_to}"


@pytest.mark.parametrize("holder", ["alpha", "beta"])
def test_a_port_that_is_in_use_is_named_on_whichever_node_holds_it(
    pair: Lab, start_inside: StartInside, holder: str
) -> None:
    server = start_inside(named(pair, holder).pid, HOLD, 5601)
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    fabric = reached(pair, 5601, 5602)
    (taken,) = of_id(fabric, "rendezvous-port-taken").values()
    assert taken.subject.startswith(f"{holder} ")
    assert taken.subject.endswith(":5601")
    assert "tcp port 5601 is in use by python" in taken.evidence[0].text
    assert of_id(fabric, "bootstrap-port-blocked") == {}


def only_six(lab: Lab, inside: Inside) -> dict[tuple[str, str], str]:
    """Take every IPv4 address of the lab's cables away and give each cable an IPv6 subnet; the addresses by port."""
    alpha, beta = lab.nodes
    given: dict[tuple[LabNode, str], str] = {
        (alpha, F0): "fd00:1::1",
        (beta, F1): "fd00:1::2",
        (alpha, F1): "fd00:2::1",
        (beta, F0): "fd00:2::2",
    }
    for (node, port), address in given.items():
        done(inside(node.pid, ONLY_SIX, port, address))
    return {(node.name, port): address for (node, port), address in given.items()}


def test_a_fabric_that_has_only_ipv6_is_pinged_with_full_frames_and_dialled(pair: Lab, inside: Inside) -> None:
    addresses = only_six(pair, inside)
    fabric = reached(pair)
    for link in links_of(fabric):
        (ping,) = [one for one in link.more_proofs if one.method == "ping"]
        assert (ping.frames_a_to_b, ping.frames_b_to_a) == (2, 2)
        assert f"to beta {addresses[link.b.key]}: 56 and 8952 bytes arrived" in ping.detail
    assert of_id(fabric, "bootstrap-port-blocked") == {}
    assert of_id(fabric, "reach-not-tried") == {}


def test_a_fabric_that_has_only_link_local_addresses_is_pinged_and_says_why_not_dialled(
    pair: Lab, inside: Inside
) -> None:
    for node in pair.nodes:
        for port in (F0, F1):
            done(inside(node.pid, LINK + "ip.flush_addr(index=at, family=2)", port))
    fabric = reached(pair)
    for link in links_of(fabric):
        (ping,) = [one for one in link.more_proofs if one.method == "ping"]
        assert (ping.frames_a_to_b, ping.frames_b_to_a) == (2, 2)
        assert "to beta fe80::" in ping.detail and ": 56 and 8952 bytes arrived" in ping.detail
    (said,) = of_id(fabric, "reach-not-tried").values()
    assert set(said.subject.split(", ")) == {f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"}
    assert said.severity == "info" and "NCCL's bootstrap and MASTER_ADDR" in said.cause
    # its fix, done, is one: each port has an address, and what it says is gone
    for line in said.fix[1:]:
        words, _, node = line.partition("    # on ")
        address, _dev, port = words.split()[4:]
        given = LINK + "ip.addr('add', index=at, address=sys.argv[2], prefixlen=24)"
        done(inside(named(pair, node).pid, given, port, address.partition("/")[0]))
    fabric = reached(pair)
    assert of_id(fabric, "reach-not-tried") == of_id(fabric, "bootstrap-port-blocked") == {}
    assert all(any(one.method == "ping" for one in link.more_proofs) for link in links_of(fabric))


def test_a_blocked_way_of_an_ipv6_fabric_is_named_with_its_address(pair: Lab, inside: Inside) -> None:
    only_six(pair, inside)
    done(inside(named(pair, "beta").pid, BLOCK_SIX, "fd00:1::1"))
    blocked = of_id(reached(pair), "bootstrap-port-blocked")
    assert set(blocked) == {"alpha -> beta fd00:1::2", "beta -> alpha fd00:1::1"}
    assert "to [fd00:1::1]:29500 (the rendezvous port)" in blocked["beta -> alpha fd00:1::1"].evidence[1].text
