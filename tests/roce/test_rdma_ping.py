"""RDMA messages over real verbs and GIDs: what passes on the healthy pair, and what each fault does to it.

Faults are made after the scan where the scan would see them first. Every case says id, node and port. RDMA beside
faults that a scan sees: test_addresses, test_down, test_swapped; on the healthy pair: test_healthy_links.
"""

from __future__ import annotations

import pytest

from fabricdoc.fabric import rails_of
from fabricdoc.fabric.reaching import with_reach
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs.guest import Guest
from tests.labs.lab import BY_RDMA, CROSSED, STRAIGHT, RoceLab
from tests.labs.panel import cable, one_way
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import between, found, ids, links, proven

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
LINK_0, LINK_1 = f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"
NO_PYVERBS = (
    "exec unshare --mount sh -c 'mount -t tmpfs tmpfs /usr/lib/python3/dist-packages/pyverbs "
    '&& exec python3 "$@"\' sh "$@"'
)
NO_VERBS = (
    "exec unshare --mount sh -c 'mount --bind /dev/null /usr/lib/x86_64-linux-gnu/libibverbs.so.1 "
    '&& exec python3 "$@"\' sh "$@"'
)


def test_libibverbs_alone_is_enough(lab: RoceLab, healthy: Fabric) -> None:
    """The same on a node without pyverbs, and one with: they understand one another."""
    lab.alpha.run_python_through(NO_PYVERBS)
    before = lab.alpha.ask("rdma resource show")
    assert [(one.kind, one.rdma) for one in proven(lab.by_subnet(healthy))] == [("segment", True)] * 2
    assert lab.alpha.ask("rdma resource show") == before


def test_cables_made_straight_at_run_time_while_a_ping_succeeds(lab: RoceLab, healthy: Fabric) -> None:
    """The addresses stay, so each subnet is on two cables: ARP finds a MAC of the wrong port, and RDMA fails."""
    lab.panel.wire(*STRAIGHT)
    for guest in lab.guests:
        guest.ask("ip neighbour flush all")  # as their age does, sooner or later
    assert "1 received" in lab.alpha.ask(f"ping -c 1 -W 5 {BETA.addresses[1]}")
    fabric = lab.by_subnet(healthy)
    assert isinstance(fabric.links, Unknown)
    for subject, port in ((LINK_0, F0), (LINK_1, F1)):
        finding = next(one for one in fabric.findings if one.subject == subject)
        assert (finding.id, finding.severity) == ("rdma-path-broken", "error")
        assert any("IBV_WC_RETRY_EXC_ERR (12)" in one.text for one in finding.evidence)
        assert any(one.file == "alpha" and port in one.text for one in finding.evidence)
    cabled = lab.cables(healthy, BY_RDMA)
    assert links(cabled) == [("cable", f"alpha/{F0}", f"beta/{F0}"), ("cable", f"alpha/{F1}", f"beta/{F1}")]
    assert found(cabled, "addresses-swapped-between-rails", "beta", F0).severity == "error"
    assert [(one.a.ip, one.b.ip) for one in proven(cabled)] == [*zip(ALPHA.addresses, BETA.addresses, strict=True)]


@pytest.fixture
def half(lab: RoceLab, healthy: Fabric) -> Fabric:
    """Rail 0 carries frames of alpha alone, with the MACs known at both ends; alpha's address went from rail 1."""
    know(lab.alpha, BETA.addresses[1], f"{BETA.mac}:02", F0, f"ip address del {ALPHA.addresses[1]}/24 dev {F1}")
    know(lab.beta, ALPHA.addresses[0], f"{ALPHA.mac}:01", F1)
    lab.panel.wire(one_way("alpha-f0", "beta-f1"), CROSSED[1])
    return lab.cables(healthy, BY_RDMA)


def know(guest: Guest, address: str, mac: str, port: str, more: str = "") -> None:
    """A neighbour's MAC that needs no question; set down and up, the port forgets it."""
    guest.do(f"ip neighbour replace {address} lladdr {mac} dev {port} nud permanent\n{more}")


def test_a_cable_that_carries_one_way_and_an_address_that_went_after_the_scan(half: Fabric) -> None:
    """The messages of alpha arrive, and neither end of rail 0 gets an acknowledgement."""
    assert links(half) == [("one-way", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
    assert between(half, LINK_0).rdma is False
    finding = found(half, "rdma-one-way", "alpha", F0)
    assert (finding.severity, finding.subject) == ("error", LINK_0)
    assert f"RDMA messages of alpha arrive at beta/{F1}" in finding.cause
    assert f"nothing that beta sends arrives at alpha/{F0}" in finding.cause
    one_sided = found(half, "link-one-way", "alpha", F0)
    assert one_sided.subject == LINK_0, "the cable of rail 0"
    assert one_sided.evidence[0].text.startswith("frames to beta: ") and ", back: 0" in one_sided.evidence[0].text
    assert isinstance(between(half, LINK_1).rdma, Unknown), "the address of rail 1"
    gone = found(half, "rdma-setup-failed", "alpha", HCAS[1])
    assert "GID" in gone.evidence[0].text or "ENODATA (61)" in gone.evidence[0].text


def test_a_cable_that_carries_one_way_and_no_answer_to_arp(lab: RoceLab, healthy: Fabric) -> None:
    for guest in lab.guests:
        guest.ask("ip neighbour flush all")
    lab.panel.wire(one_way("alpha-f0", "beta-f1"), CROSSED[1])
    fabric = lab.by_subnet(healthy)
    assert links(fabric) == [("segment", f"alpha/{F1}", f"beta/{F0}")]
    finding = found(fabric, "rdma-connect-failed", "alpha", F0)
    assert (finding.severity, finding.subject) == ("error", LINK_0)
    assert any("ibv_modify_qp to RTR failed, ETIMEDOUT (110)" in one.text for one in finding.evidence)
    assert "Nobody answered ARP" in finding.cause


def test_whole_packets_lost_on_the_way(lab: RoceLab, healthy: Fabric) -> None:
    """Small frames pass the panel, large ones don't; beacons see nothing of it, datagrams the same, told as one."""
    lab.panel.wire(cable("alpha-f0", "beta-f1", largest=1600), CROSSED[1])
    fabric = lab.cables(healthy, BY_RDMA._replace(weak=(with_reach,)))
    assert [one.rdma for one in proven(fabric)] == [False, True]
    finding = found(fabric, "rdma-mtu-black-hole", "alpha", F0)
    assert (finding.subject, finding.severity) == (LINK_0, "error")
    assert "packets of 4096 bytes are lost from alpha to beta and from beta to alpha" in finding.cause
    asked = f"{F0} {ALPHA.addresses[0]} to beta/{F1} {BETA.addresses[1]}: 56 bytes arrived, 8972 bytes"
    assert [one.file for one in finding.evidence if one.text.startswith(asked)] == ["alpha"]
    assert "mtu-black-hole" not in ids(fabric)
    assert [rail.ports[0].netdev for rail in rails_of(fabric)] == [F1]


@pytest.fixture
def linked(lab: RoceLab) -> Fabric:
    """Links that beacons alone have proven, before any fault."""
    return lab.linked()


def test_memory_that_may_not_be_locked_says_nothing_of_the_cable(lab: RoceLab, linked: Fabric) -> None:
    lab.beta.run_python_through('ulimit -l 8\nexec setpriv --bounding-set=-ipc_lock python3 "$@"')
    fabric = lab.by_rdma(linked)
    assert [(one.kind, type(one.rdma)) for one in proven(fabric)] == [("cable", Unknown)] * 2
    finding = found(fabric, "rdma-setup-failed", "beta", HCAS[1])
    assert "ENOMEM (12)" in finding.evidence[0].text
    assert finding.severity == "warning"


def test_a_node_without_verbs_is_named_with_what_to_install(lab: RoceLab, linked: Fabric) -> None:
    lab.beta.run_python_through(NO_VERBS)
    fabric = lab.by_rdma(linked)
    assert [one.proof.method for one in proven(fabric)] == ["beacon"] * 2
    finding = found(fabric, "rdma-not-tried", "beta")
    assert (finding.subject, finding.severity) == ("beta", "info")
    assert any("apt-get install libibverbs1" in line for line in finding.fix)
    assert "rdma-path-broken" not in ids(fabric)
