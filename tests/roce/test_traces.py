"""Faults that a boot does not forget: a carrier that went often, lines of the kernel's log. Last by the file's name."""

from __future__ import annotations

import shlex
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fabricdoc.model.documents import Unknown
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce.seeing import found, ids, node

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
WATCH_S, FLAP_S = 5.0, 0.5
FLAPS = 12
LINE = "mlx5_core 0000:01:00.0 rocep1s0f0: device's health compromised - reached miss count"


def test_a_link_that_flaps_while_it_is_watched(lab: RoceLab) -> None:
    with ThreadPoolExecutor(1) as pool:
        watched = pool.submit(lab.scan, watch_s=WATCH_S)
        flaps = 0
        while flaps < FLAPS or not watched.done():
            for change in (lab.pull, lab.plug):
                change("alpha", F1)
                time.sleep(FLAP_S)  # the fault's own rhythm
            flaps += 1
    counters = node(watched.result(), "alpha").counters
    assert not isinstance(counters, Unknown)
    grown = {one.subject: one.deltas.get("link_downed", 0) for one in counters if one.source == "hw"}
    assert grown[f"{HCAS[0]}/1"] == 0 < grown[f"{HCAS[1]}/1"]


def test_a_carrier_that_went_often_is_told_and_a_line_that_no_kernel_wrote_is_not(lab: RoceLab) -> None:
    """What a process writes into the kernel's log carries a facility of its own, and proves nothing of an HCA."""
    lab.beta.do(f"echo {shlex.quote(f'<3>{LINE}')} > /dev/kmsg")
    fabric = lab.scan()
    assert found(fabric, "link-flap", "alpha", F1).subject == f"alpha/{F1}"
    assert node(fabric, "beta").host.kernel_log == ()
    assert "hca-health" not in ids(fabric)
