"""Datagrams and TCP beside real RDMA: a firewall that lets RDMA pass alone, a rendezvous port that is taken.

Beside them addresses that no file brings back: all at once, one scan, beacons, RDMA, datagrams and TCP. Large frames
that get lost are test_rdma_ping's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabricdoc.fabric.reaching import with_reach
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import BY_RDMA, RoceLab
from tests.labs.seed import BETA, PORTS
from tests.roce.seeing import found, links, proven, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
DROP = """table inet lab {
  chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    iifname mgmt0 accept
    udp dport 4791 accept
    ct state established,related accept
  }
}"""
HOLD = 'import socket, time; s = socket.create_server(("0.0.0.0", 29500)); time.sleep(300)'


@pytest.fixture(scope="module")
def fabric(scene: RoceLab) -> Iterator[Fabric]:
    """Soft RoCE comes in through the kernel's UDP, so the firewall lets port 4791 in, as a NIC would past it."""
    scene.alpha.do(f"python3 -c '{HOLD}' >/dev/null 2>&1 & echo $! > /run/holder\n", undo="kill $(cat /run/holder)")
    scene.beta.do(f"nft -f - <<'END'\n{DROP}\nEND\nrm /etc/network/interfaces\n", undo="nft flush ruleset")
    assert "0 received" in scene.alpha.ask(f"ping -c 1 -W 2 {BETA.addresses[1]} || true\n")
    yield scene.cables(evidence=BY_RDMA._replace(weak=(with_reach,)))


def test_a_firewall_that_drops_by_default(fabric: Fabric) -> None:
    finding = found(fabric, "host-firewall", "beta")
    assert (finding.severity, finding.evidence[0].text.startswith("nftables")) == ("warning", True)
    # frames of another EtherType pass beside it
    assert [kind for kind, _a, _b in links(fabric)] == ["cable", "cable"]


def test_rdma_passes_while_bootstrap_is_dropped_in_one_direction(fabric: Fabric) -> None:
    assert [one.rdma for one in proven(fabric)] == [True, True]
    blocked = found(fabric, "bootstrap-port-blocked", "alpha")
    assert (blocked.severity, blocked.subject) == ("error", f"alpha -> beta {BETA.addresses[1]}")
    assert "got no answer" in blocked.evidence[0].text
    assert any(one.file == "beta" and "policy drop" in one.text for one in blocked.evidence)
    assert [one.subject for one in fabric.findings if one.id == "bootstrap-port-blocked"] == [blocked.subject]


def test_the_rendezvous_port_held_by_another_process(fabric: Fabric) -> None:
    taken = found(fabric, "rendezvous-port-taken", "alpha")
    assert "in use by python3 (pid " in taken.evidence[0].text


def test_addresses_that_no_file_brings_back(fabric: Fabric) -> None:
    assert len(found(fabric, "address-not-persistent", "beta", F0).evidence) == 2
    assert "address-not-persistent" not in {id for id, subject in wrong(fabric) if subject == "alpha"}


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("host-firewall", "beta"),
        ("bootstrap-port-blocked", f"alpha -> beta {BETA.addresses[1]}"),
        ("address-not-persistent", "beta"),
    }
