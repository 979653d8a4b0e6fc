"""The real lldpd of the guests: read by the scan, listened to without it, beside the beacons and in their place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabricdoc.fabric import hear_lldp
from fabricdoc.fabric.cables import BEACONS_ALONE
from fabricdoc.fabric.lldp import with_lldp
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour
from tests.labs.guest import Guest
from tests.labs.lab import RoceLab
from tests.labs.seed import PORTS
from tests.roce.seeing import ids, links, node, proven

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
BY_LLDP = BEACONS_ALONE._replace(proofs=(with_lldp,))
CROSSED = [("cable", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
START = f"""
mkdir -p /run/lldpd /var/lib/lldpd
lldpd -I {F0},{F1} -S lab
for _ in 1 2 3 4 5 6 7 8 9 10; do lldpcli configure lldp tx-interval 3 >/dev/null 2>&1 && break; sleep 1; done
"""
WAIT = """
for _ in $(seq 40); do
    [ "$(lldpcli -f keyvalue show neighbors | grep -c chassis.mac)" -ge 2 ] && exit 0
    sleep 1
done
lldpcli show neighbors
exit 1
"""
STOP = "pkill -x lldpd || true\nfor _ in 1 2 3 4 5; do pgrep -x lldpd >/dev/null || break; sleep 1; done\n"


@pytest.fixture
def announcing(lab: RoceLab) -> Iterator[RoceLab]:
    """Both guests with lldpd, each knowing the other."""
    try:
        for guest in lab.guests:
            guest.do(START)
        for guest in lab.guests:
            guest.ask(WAIT)
        yield lab
    finally:
        for guest in lab.guests:
            stop(guest)


def stop(guest: Guest) -> None:
    guest.ask(STOP + "rm -f /run/lldpd.socket\n")


def told(fabric: Fabric, name: str) -> dict[str, LldpNeighbour]:
    found = node(fabric, name).lldp
    assert not isinstance(found, Unknown), found
    return {one.netdev: one for one in found}


def test_a_scan_reads_what_lldpd_knows(announcing: RoceLab) -> None:
    fabric = announcing.scan()
    alpha, beta = told(fabric, "alpha"), told(fabric, "beta")
    assert {port: one.port_description for port, one in alpha.items()} == {F0: F1, F1: F0}
    assert {port: one.port_description for port, one in beta.items()} == {F0: F1, F1: F0}
    assert {one.system for one in alpha.values()} == {"beta"}
    assert (alpha[F0].port, alpha[F1].port) == ("52:54:00:00:02:02", "52:54:00:00:02:01")
    assert not any(one.bridge for one in alpha.values())
    fabric = announcing.cables(fabric, BY_LLDP)
    assert links(fabric) == CROSSED
    for one in proven(fabric):
        proof = next(proof for proof in one.more_proofs if proof.method == "lldp")
        assert (proof.frames_a_to_b, proof.frames_b_to_a) == (1, 1)
    assert "lldp-contradicts-beacons" not in ids(fabric)


def test_without_a_daemon_the_probe_hears_the_same(announcing: RoceLab) -> None:
    """alpha's lldpd is gone; beta's announces: one end hears."""
    stop(announcing.alpha)
    specs = [one.spec for one in announcing.guests]
    fabric = announcing.scan()
    assert isinstance(node(fabric, "alpha").lldp, Unknown)
    fabric = hear_lldp(specs, fabric, lambda _line: None, 12.0)
    assert {port: one.port_description for port, one in told(fabric, "alpha").items()} == {F0: F1, F1: F0}
    fabric = announcing.cables(fabric, BY_LLDP)
    assert links(fabric) == CROSSED


def test_lldp_alone_proves_what_may_send_no_beacon(announcing: RoceLab) -> None:
    fabric = announcing.scan()
    for guest in announcing.guests:
        guest.run_python_through('exec setpriv --bounding-set=-net_raw python3 "$@"')
    fabric = announcing.cables(fabric, BY_LLDP)
    assert links(fabric) == CROSSED
    assert {one.proof.method for one in proven(fabric)} <= {"lldp", "multicast", "rdma-ping"}
    assert all("lldp" in {one.proof.method, *(more.method for more in one.more_proofs)} for one in proven(fabric))
