"""RDMA messages over real verbs and GIDs: what passes on the healthy pair, and what each fault does to it.

Faults are made after the scan where the scan would see them first. Every case says id, node and port.
"""

from __future__ import annotations

import re
import time

import pytest

from fabricdoc.fabric import rails_of
from fabricdoc.fabric.cables import BEACONS_ALONE, EVERY_KIND
from fabricdoc.fabric.rdma_ping import proven_by_rdma
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from tests.labs.guest import Guest
from tests.labs.lab import CROSSED, STRAIGHT, RoceLab
from tests.labs.panel import cable, one_way
from tests.labs.seed import ALPHA, BETA, HCAS, PORTS
from tests.roce.seeing import found, ids, links, proven, told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
LINK_0, LINK_1 = f"alpha/{F0} - beta/{F1}", f"alpha/{F1} - beta/{F0}"
NO_PYVERBS = (
    "exec unshare --mount sh -c 'mount -t tmpfs tmpfs /usr/lib/python3/dist-packages/pyverbs "
    '&& exec python3 "$@"\' sh "$@"'
)
COUNTED = """case "$*" in
*" rdma_ping "*) python3 "$@"; times > /lab/times; exit 0 ;;
esac
exec python3 "$@\""""
BY_RDMA = BEACONS_ALONE._replace(proofs=(proven_by_rdma,))
MOST_CPU_S = 15.0  # under software emulation, most of it loading pyverbs


@pytest.fixture(scope="module")
def scanned(booted: RoceLab) -> Fabric:
    """The healthy pair, scanned once before any fault."""
    return booted.healthy()


def by_subnet(lab: RoceLab, fabric: Fabric) -> Fabric:
    """The ping alone, where no link is proven: ports whose addresses share a subnet."""
    unproven = fabric.model_copy(update={"links": Unknown(unknown="no beacons in this test"), "findings": ()})
    return proven_by_rdma([one.spec for one in lab.guests], unproven, lambda _text: None)


def mapped(lab: RoceLab, fabric: Fabric) -> Fabric:
    """The cables job over a scan made before the fault, by beacons and RDMA."""
    return lab.cables(fabric, BY_RDMA)


def between(fabric: Fabric, subject: str) -> Link:
    return next(
        one for one in proven(fabric) if f"{one.a.node}/{one.a.netdev} - {one.b.node}/{one.b.netdev}" == subject
    )


def objects(lab: RoceLab) -> list[str]:
    """How many queue pairs, completion queues and so on each guest has."""
    return [one.ask("rdma resource show") for one in lab.guests]


def test_a_healthy_crossed_pair_is_proven_both_ways_and_nothing_stays(lab: RoceLab, scanned: Fabric) -> None:
    before = objects(lab)
    fabric = lab.cables(scanned, EVERY_KIND)
    assert links(fabric) == [("cable", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
    for one in proven(fabric):
        assert (one.rdma, one.proof.method, one.more_proofs[0].method) == (True, "rdma-ping", "beacon")
        assert one.proof.frames_a_to_b == one.proof.frames_b_to_a == 12
        assert re.search(
            r"8 to 8192 bytes both ways, path MTU 4096, round trip \d+ us, GID 1 ::ffff:", one.proof.detail
        )
    assert told(fabric) == []
    assert len(rails_of(fabric)) == 2
    assert objects(lab) == before


def test_libibverbs_alone_is_enough(lab: RoceLab, scanned: Fabric) -> None:
    """The same on a node without pyverbs, and one with: they understand one another."""
    lab.alpha.run_python_through(NO_PYVERBS)
    before = objects(lab)
    assert [one.rdma for one in proven(mapped(lab, scanned))] == [True, True]
    assert objects(lab) == before


def test_it_costs_little_processor_time(lab: RoceLab, scanned: Fabric) -> None:
    lab.beta.run_python_through(COUNTED)
    began = time.monotonic()
    assert [one.rdma for one in proven(by_subnet(lab, scanned))] == [True, True]
    spent = re.findall(r"(\d+)m([\d.]+)s", lab.beta.ask("cat /lab/times").splitlines()[1])
    seconds = sum(int(minutes) * 60 + float(rest) for minutes, rest in spent)
    assert seconds < MOST_CPU_S, f"{seconds} s of processor time in {time.monotonic() - began:.0f} s"


def test_cables_made_straight_at_run_time_while_a_ping_succeeds(lab: RoceLab, scanned: Fabric) -> None:
    """The addresses stay, so each subnet is on two cables: ARP finds a MAC of the wrong port, and RDMA fails."""
    assert [one.rdma for one in proven(by_subnet(lab, scanned))] == [True, True]
    lab.panel.wire(*STRAIGHT)
    for guest in lab.guests:
        guest.ask("ip neighbour flush all")  # as their age does, sooner or later
    assert "1 received" in lab.alpha.ask(f"ping -c 1 -W 5 {BETA.addresses[1]}")
    fabric = by_subnet(lab, scanned)
    assert isinstance(fabric.links, Unknown)
    for subject, port in ((LINK_0, F0), (LINK_1, F1)):
        finding = next(one for one in fabric.findings if one.subject == subject)
        assert (finding.id, finding.severity) == ("rdma-path-broken", "error")
        assert any("IBV_WC_RETRY_EXC_ERR (12)" in one.text for one in finding.evidence)
        assert any(one.file == "alpha" and port in one.text for one in finding.evidence)
    cabled = mapped(lab, scanned)
    assert links(cabled) == [("cable", f"alpha/{F0}", f"beta/{F0}"), ("cable", f"alpha/{F1}", f"beta/{F1}")]
    assert found(cabled, "addresses-swapped-between-rails", "beta", F0).severity == "error"


def test_addresses_swapped_on_a_node_while_a_ping_succeeds(lab: RoceLab) -> None:
    lab.beta.do(
        f"ip address flush dev {F0} scope global\nip address flush dev {F1} scope global\n"
        f"ip address add {BETA.addresses[1]}/24 dev {F0}\nip address add {BETA.addresses[0]}/24 dev {F1}\n"
    )
    assert "1 received" in lab.alpha.ask(f"ping -c 1 -W 5 {BETA.addresses[1]}")
    fabric = by_subnet(lab, lab.scan())
    assert isinstance(fabric.links, Unknown)
    assert found(fabric, "rdma-path-broken", "alpha", F0).subject == f"alpha/{F0} - beta/{F0}"
    assert found(fabric, "rdma-path-broken", "beta", F1).subject == f"alpha/{F1} - beta/{F1}"


def test_a_pulled_cable(lab: RoceLab, scanned: Fabric) -> None:
    lab.pull("alpha", F0)
    fabric = by_subnet(lab, scanned)
    assert links(fabric) == [("segment", f"alpha/{F1}", f"beta/{F0}")]
    finding = next(one for one in fabric.findings if one.subject == LINK_0)
    assert finding.id in ("rdma-connect-failed", "rdma-path-broken") and finding.severity == "error"
    assert any(one.file == "alpha" and F0 in one.text for one in finding.evidence)


def test_a_port_set_down(lab: RoceLab, scanned: Fabric) -> None:
    lab.beta.do(f"ip link set dev {F1} down")
    fabric = by_subnet(lab, scanned)
    assert links(fabric) == [("segment", f"alpha/{F1}", f"beta/{F0}")]
    finding = found(fabric, "rdma-connect-failed", "beta", F1)
    assert finding.subject == LINK_0
    assert any("ibv_modify_qp to RTR failed, ENETUNREACH (101)" in one.text for one in finding.evidence)


def test_a_cable_that_carries_one_way(lab: RoceLab, scanned: Fabric) -> None:
    """With the MACs known at both ends: the messages of alpha arrive, and neither end gets an acknowledgement."""
    know(lab.alpha, BETA.addresses[1], f"{BETA.mac}:02", F0)
    know(lab.beta, ALPHA.addresses[0], f"{ALPHA.mac}:01", F1)
    lab.panel.wire(one_way("alpha-f0", "beta-f1"), CROSSED[1])
    fabric = mapped(lab, scanned)
    assert links(fabric)[0] == ("one-way", f"alpha/{F0}", f"beta/{F1}")
    assert [one.rdma for one in proven(fabric)] == [False, True]
    finding = found(fabric, "rdma-one-way", "alpha", F0)
    assert (finding.severity, finding.subject) == ("error", LINK_0)
    assert f"RDMA messages of alpha arrive at beta/{F1}" in finding.cause
    assert f"nothing that beta sends arrives at alpha/{F0}" in finding.cause
    assert found(fabric, "link-one-way", "alpha", F0).subject == LINK_0


def know(guest: Guest, address: str, mac: str, port: str) -> None:
    """A neighbour's MAC that needs no question; set down and up, the port forgets it."""
    guest.do(f"ip neighbour replace {address} lladdr {mac} dev {port} nud permanent")


def test_a_cable_that_carries_one_way_and_no_answer_to_arp(lab: RoceLab, scanned: Fabric) -> None:
    for guest in lab.guests:
        guest.ask("ip neighbour flush all")
    lab.panel.wire(one_way("alpha-f0", "beta-f1"), CROSSED[1])
    fabric = by_subnet(lab, scanned)
    assert links(fabric) == [("segment", f"alpha/{F1}", f"beta/{F0}")]
    finding = found(fabric, "rdma-connect-failed", "alpha", F0)
    assert (finding.severity, finding.subject) == ("error", LINK_0)
    assert any("ibv_modify_qp to RTR failed, ETIMEDOUT (110)" in one.text for one in finding.evidence)
    assert "Nobody answered ARP" in finding.cause


def test_a_gid_that_one_end_lacks(lab: RoceLab) -> None:
    lab.alpha.do(f"ip address del {ALPHA.addresses[1]}/24 dev {F1}")
    fabric = lab.cables(evidence=BY_RDMA)
    assert between(fabric, LINK_0).rdma is True
    assert between(fabric, LINK_1).rdma is False
    finding = found(fabric, "rdma-connect-failed", "alpha", F1)
    assert finding.subject == LINK_1
    assert any("EINVAL (22)" in one.text for one in finding.evidence)
    assert "GIDs of different kinds" in finding.cause
    found(fabric, "gid-missing-at-one-end", "alpha", F1)


def test_an_address_that_went_after_the_scan(lab: RoceLab, scanned: Fabric) -> None:
    lab.alpha.do(f"ip address del {ALPHA.addresses[0]}/24 dev {F0}")
    fabric = mapped(lab, scanned)
    assert isinstance(between(fabric, LINK_0).rdma, Unknown)
    finding = found(fabric, "rdma-setup-failed", "alpha", HCAS[0])
    assert "GID" in finding.evidence[0].text or "ENODATA (61)" in finding.evidence[0].text


def test_whole_packets_lost_on_the_way(lab: RoceLab, scanned: Fabric) -> None:
    """Small frames pass the panel, large ones don't; beacons see nothing of it, datagrams the same, told as one."""
    lab.panel.wire(cable("alpha-f0", "beta-f1", largest=1600), CROSSED[1])
    fabric = lab.cables(scanned, EVERY_KIND)
    assert [one.rdma for one in proven(fabric)] == [False, True]
    finding = found(fabric, "rdma-mtu-black-hole", "alpha", F0)
    assert (finding.subject, finding.severity) == (LINK_0, "error")
    assert "packets of 4096 bytes are lost from alpha to beta and from beta to alpha" in finding.cause
    asked = f"{F0} {ALPHA.addresses[0]} to beta/{F1} {BETA.addresses[1]}: 56 bytes arrived, 8972 bytes"
    assert [one.file for one in finding.evidence if one.text.startswith(asked)] == ["alpha"]
    assert "mtu-black-hole" not in ids(fabric)
    assert [rail.ports[0].netdev for rail in rails_of(fabric)] == [F1]


def test_memory_that_may_not_be_locked_says_nothing_of_the_cable(lab: RoceLab, scanned: Fabric) -> None:
    lab.beta.run_python_through('ulimit -l 8\nexec setpriv --bounding-set=-ipc_lock python3 "$@"')
    fabric = mapped(lab, scanned)
    assert {type(one.rdma) for one in proven(fabric)} == {Unknown}
    finding = found(fabric, "rdma-setup-failed", "beta", HCAS[1])
    assert "ENOMEM (12)" in finding.evidence[0].text
    assert finding.severity == "warning"


def test_a_node_without_verbs_is_named_with_what_to_install(lab: RoceLab, scanned: Fabric) -> None:
    hidden = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
    lab.beta.run_python_through(
        f'exec unshare --mount sh -c \'mount --bind /dev/null {hidden} && exec python3 "$@"\' sh "$@"'
    )
    fabric = mapped(lab, scanned)
    assert {one.proof.method for one in proven(fabric)} == {"beacon"}
    finding = found(fabric, "rdma-not-tried", "beta")
    assert (finding.subject, finding.severity) == ("beta", "info")
    assert any("apt-get install libibverbs1" in line for line in finding.fix)
    assert "rdma-path-broken" not in ids(fabric)
