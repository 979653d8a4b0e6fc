"""What makes two machines look alike, and settings of a machine that decide where packets go."""

from __future__ import annotations

import dataclasses

import pytest

from tests.labs.lab import RoceLab
from tests.labs.seed import BETA, PORTS
from tests.roce.seeing import found, links, netdev, node, told

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS


def test_a_machine_cloned_with_its_name_and_machine_id(lab: RoceLab) -> None:
    lab.beta.do(f"echo alpha > /proc/sys/kernel/hostname\necho {1:032x} > /etc/machine-id")
    fabric = lab.scan()
    assert found(fabric, "hostname-shared", "beta").subject == "alpha, beta"
    assert found(fabric, "machine-id-shared", "beta").subject == "alpha, beta"
    assert told(fabric) == []


def test_settings_that_decide_where_packets_go(lab: RoceLab) -> None:
    lab.alpha.do(
        "cd /proc/sys/net/ipv4/conf\necho 1 > all/arp_ignore\necho 2 > all/arp_announce\n"
        f"echo 2 > {F0}/rp_filter\necho 1 > all/forwarding\n"
        "date -s @$(($(date +%s) - 90))\n"
    )
    lab.beta.do(f"echo 1 > /proc/sys/net/ipv4/conf/{F1}/rp_filter\ndate -s @$(($(date +%s) + 90))")
    fabric = lab.scan()
    port = netdev(fabric, "alpha", F0)
    assert (port.rp_filter, port.arp_ignore, port.arp_announce) == (2, 1, 2)
    assert (netdev(fabric, "alpha", F1).rp_filter, netdev(fabric, "beta", F1).rp_filter) == (0, 1)
    assert (node(fabric, "alpha").host.ip_forward, node(fabric, "beta").host.ip_forward) == (True, False)
    # both are put off: a scan that takes seconds, as here, tells a clock only where it is off for sure
    offsets = [float(str(node(fabric, name).clock_offset_s)) for name in ("alpha", "beta")]
    assert -120 < offsets[0] < -60 and 60 < offsets[1] < 120
    assert found(fabric, "clock-skew", "beta").severity == "warning"


def test_a_firewall_that_drops_by_default(lab: RoceLab) -> None:
    lab.beta.do(f"nft -f - <<'END'\n{RULES}\nEND\n", undo="nft flush ruleset")
    assert "0 received" in lab.alpha.ask(f"ping -c 1 -W 2 {BETA.addresses[1]} || true\n")
    fabric = lab.cables()
    finding = found(fabric, "host-firewall", "beta")
    assert (finding.severity, finding.evidence[0].text.startswith("nftables")) == ("warning", True)
    # frames of another EtherType pass beside it
    assert [kind for kind, _a, _b in links(fabric)] == ["cable", "cable"]


RULES = """table inet lab {
  chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    iifname mgmt0 accept
    ct state established,related accept
  }
}"""


def test_one_host_id_for_two_machines(lab: RoceLab) -> None:
    for guest in lab.guests:
        guest.run_with(NCCL_HOSTID="one")
    fabric = lab.scan()
    assert node(fabric, "alpha").host.environment == {"NCCL_HOSTID": "one"}
    found(fabric, "host-identity-collision", "beta")


def test_one_machine_under_two_names(lab: RoceLab) -> None:
    lab.beta.changed = True
    spec, lab.beta.spec = lab.beta.spec, dataclasses.replace(lab.alpha.spec, name="beta")
    try:
        assert found(lab.scan(), "same-node-twice", "beta").severity == "warning"
    finally:
        lab.beta.spec = spec
