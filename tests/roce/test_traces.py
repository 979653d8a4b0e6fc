"""Faults that a boot does not forget: a carrier that went often, lines of the kernel's log. Last by the file's name.

In their last scan also an index that is pinned on both nodes and does not fit every port.
"""

from __future__ import annotations

import shlex
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab
from tests.labs.seed import ALPHA, HCAS, PORTS
from tests.roce.seeing import found, hcas, ids, node, wrong

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
WATCH_S, UP_S = 4.0, 0.3
# the kernel tells a port's HCA of its carrier at most once a second (net/core/link_watch.c): shorter ones may be missed
DOWN_S = 1.3
FLAPS = 12
LINE = "mlx5_core 0000:01:00.0 rocep1s0f0: device's health compromised - reached miss count"
MOVED = f"ip address add 192.168.21.1/24 dev {F0}\nip address del {ALPHA.addresses[0]}/24 dev {F0}"


@pytest.fixture(scope="module")
def watched(scene: RoceLab) -> Fabric:
    """A scan that watches, while a cable of alpha is pulled and plugged again and again; the pauses are the fault's."""
    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(scene.scan, watch_s=WATCH_S)
        flaps = 0
        while flaps < FLAPS or not watching.done():
            scene.pull("alpha", F1)
            time.sleep(UP_S if watching.done() else DOWN_S)
            scene.plug("alpha", F1)
            time.sleep(UP_S)
            flaps += 1
    return watching.result()


@pytest.fixture(scope="module")
def fabric(scene: RoceLab, watched: Fabric) -> Fabric:
    """The scan after it."""
    assert not watched.failed
    scene.beta.do(f"echo {shlex.quote(f'<3>{LINE}')} > /dev/kmsg")
    scene.alpha.do(MOVED)
    for guest in scene.guests:
        guest.run_with(NCCL_IB_GID_INDEX="1")
    return scene.scan()


def test_a_link_that_flaps_while_it_is_watched(watched: Fabric) -> None:
    counters = node(watched, "alpha").counters
    assert not isinstance(counters, Unknown)
    grown = {one.subject: one.deltas.get("link_downed", 0) for one in counters if one.source == "hw"}
    assert grown[f"{HCAS[0]}/1"] == 0 < grown[f"{HCAS[1]}/1"]


def test_a_carrier_that_went_often(fabric: Fabric) -> None:
    assert found(fabric, "link-flap", "alpha", F1).subject == f"alpha/{F1}"


def test_a_line_that_no_kernel_wrote(fabric: Fabric) -> None:
    """What a process writes into the kernel's log carries a facility of its own, and proves nothing of an HCA."""
    assert node(fabric, "beta").host.kernel_log == ()
    assert "hca-health" not in ids(fabric)


def test_a_pinned_gid_index_that_does_not_fit_every_port(fabric: Fabric) -> None:
    gids = hcas(fabric, "alpha")[HCAS[0]].ports[0].gids
    assert not isinstance(gids, Unknown)
    assert [one.index for one in gids if one.ipv4] == [2]
    assert found(fabric, "gid-index-differs-between-nodes", "alpha", HCAS[0]).severity == "error"
    # nobody else is in its new subnet
    found(fabric, "ib-hca-includes-port-cabled-elsewhere", "alpha", HCAS[0])


def test_nothing_else_is_found(fabric: Fabric) -> None:
    assert wrong(fabric) == {
        ("link-flap", f"alpha/{F1}"),
        ("gid-index-differs-between-nodes", f"alpha/{HCAS[0]}"),
        ("gid-index-drifted", f"alpha/{HCAS[0]}"),
        ("ib-hca-includes-port-cabled-elsewhere", f"alpha/{HCAS[0]}"),
        ("ib-hca-includes-port-cabled-elsewhere", f"beta/{HCAS[1]}"),
        ("address-not-persistent", "alpha"),
    }
