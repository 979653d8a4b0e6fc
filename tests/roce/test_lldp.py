"""The real lldpd of the guests: read by the scan, beside the beacons and in their place.

Listening without a daemon is tested in the CPU lab.
"""

from __future__ import annotations

import time

import pytest

from fabricdoc.fabric.cables import BEACONS_ALONE
from fabricdoc.fabric.lldp import with_lldp
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour
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
for _ in 1 2 3 4 5 6 7 8 9 10; do lldpcli configure lldp tx-hold 20 >/dev/null 2>&1 && break; sleep 1; done
"""
# a daemon starts paused, and where the start is slow its own helper's word to go on gets lost: then it never speaks
TELL = """lldpcli resume >/dev/null
lldpcli update >/dev/null
lldpcli -f keyvalue show neighbors | grep -c chassis.mac || true
"""
TELL_S = 60.0
STOP = """
pkill -x lldpd && for _ in 1 2 3 4 5; do pgrep -x lldpd >/dev/null || break; sleep 1; done
rm -f /run/lldpd.socket
"""


@pytest.fixture
def announcing(lab: RoceLab) -> RoceLab:
    """Both guests with lldpd, each knowing the other; ended by the restore."""
    for guest in lab.guests:
        guest.do(STOP + START, undo=STOP)
    end = time.monotonic() + TELL_S
    while (known := [int(guest.ask(TELL)) for guest in lab.guests]) != [len(PORTS)] * 2:
        assert time.monotonic() < end, f"lldpd of alpha and of beta know {known} neighbours"
    return lab


def told(fabric: Fabric, name: str) -> dict[str, LldpNeighbour]:
    found = node(fabric, name).lldp
    assert not isinstance(found, Unknown), found
    return {one.netdev: one for one in found}


def test_neighbours_are_read_from_lldpd_back_beacons_and_prove_links_alone(announcing: RoceLab) -> None:
    """One start of lldpd for all of it: under emulation it takes its time to know its neighbours."""
    fabric = announcing.scan()
    known_to_the_daemon(fabric)
    backing_beacons(announcing.cables(fabric, BY_LLDP))
    for guest in announcing.guests:
        guest.run_python_through('exec setpriv --bounding-set=-net_raw python3 "$@"')
    alone = announcing.cables(fabric, BY_LLDP)
    assert links(alone) == CROSSED
    assert {one.proof.method for one in proven(alone)} <= {"lldp", "multicast"}
    assert all("lldp" in {one.proof.method, *(more.method for more in one.more_proofs)} for one in proven(alone))


def known_to_the_daemon(fabric: Fabric) -> None:
    alpha, beta = told(fabric, "alpha"), told(fabric, "beta")
    assert {port: one.port_description for port, one in alpha.items()} == {F0: F1, F1: F0}
    assert {port: one.port_description for port, one in beta.items()} == {F0: F1, F1: F0}
    assert {one.system for one in alpha.values()} == {"beta"}
    assert (alpha[F0].port, alpha[F1].port) == ("52:54:00:00:02:02", "52:54:00:00:02:01")
    assert not any(one.bridge for one in alpha.values())


def backing_beacons(fabric: Fabric) -> None:
    assert links(fabric) == CROSSED
    for one in proven(fabric):
        proof = next(proof for proof in one.more_proofs if proof.method == "lldp")
        assert (proof.frames_a_to_b, proof.frames_b_to_a) == (1, 1)
    assert "lldp-contradicts-beacons" not in ids(fabric)
