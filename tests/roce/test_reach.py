"""Datagrams and TCP beside real RDMA: large frames lost at the panel, and a firewall that lets RDMA pass alone."""

from __future__ import annotations

import pytest

from fabricdoc.fabric.cables import BEACONS_ALONE
from fabricdoc.fabric.reaching import with_reach
from tests.labs.lab import RoceLab
from tests.labs.seed import BETA, PORTS
from tests.roce.seeing import found, ids, links, proven

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
REACHED = BEACONS_ALONE._replace(weak=(with_reach,))
DROP = """table inet lab {
  chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    iifname mgmt0 accept
    udp dport 4791 accept
    ct state established,related accept
  }
}"""


def test_a_healthy_pair_pings_and_dials_both_ways(lab: RoceLab) -> None:
    fabric = lab.cables(evidence=REACHED)
    for one in proven(fabric):
        proof = next(proof for proof in one.more_proofs if proof.method == "ping")
        assert (proof.frames_a_to_b, proof.frames_b_to_a) == (2, 2)
        assert "8972 bytes arrived" in proof.detail
    assert not ids(fabric) & {"mtu-black-hole", "bootstrap-port-blocked", "rendezvous-port-taken", "reach-not-tried"}


def test_rdma_passes_while_bootstrap_is_dropped_in_one_direction(lab: RoceLab) -> None:
    """Soft RoCE comes in through the kernel's UDP, so the firewall lets port 4791 in, as a NIC would past it."""
    lab.beta.do(f"nft -f - <<'END'\n{DROP}\nEND\n", undo="nft flush ruleset")
    fabric = lab.cables(evidence=REACHED)
    assert len(links(fabric)) == 2
    blocked = found(fabric, "bootstrap-port-blocked", "alpha")
    assert (blocked.severity, blocked.subject) == ("error", f"alpha -> beta {BETA.addresses[1]}")
    assert "got no answer" in blocked.evidence[0].text
    assert any(one.file == "beta" and "policy drop" in one.text for one in blocked.evidence)
    assert [one.subject for one in fabric.findings if one.id == "bootstrap-port-blocked"] == [blocked.subject]


def test_the_rendezvous_port_held_by_another_process(lab: RoceLab) -> None:
    lab.alpha.do(
        "python3 -c 'import socket, time; s = socket.create_server((\"0.0.0.0\", 29500)); time.sleep(300)' "
        ">/dev/null 2>&1 & echo $! > /run/holder\nsleep 2\n"
    )
    try:
        fabric = lab.cables(evidence=REACHED)
    finally:
        lab.alpha.ask("kill $(cat /run/holder)\n")
    taken = found(fabric, "rendezvous-port-taken", "alpha")
    assert "in use by python3 (pid " in taken.evidence[0].text
