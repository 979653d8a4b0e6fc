"""Every finding of a scan that a row of the gate names, on a recorded fabric that has it: refused or noted, and where.

The fabrics are those by which the checks themselves are tested (tests/fabrics/ill); the checks judge them here.
"""

from __future__ import annotations

from functools import cache

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.gate.adopted import BY_FINDINGS, adopted, deciding
from fabricdoc.gate.catalogue import kinds
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.gate import GateCheck
from tests.fabrics.ill.every import ILL

pytestmark = pytest.mark.unit

ROWS = [(row, id) for row in BY_FINDINGS for id in kinds()[row].findings]
OF_LINKS = {"mtu-black-hole", "rdma-mtu-black-hole", "bootstrap-port-blocked"}
"""What only frames and connections show: real ones in tests/lab and tests/roce."""
NOTED = {
    "cable-error",
    "cable-too-hot",
    "container-rdma-device-not-accessible",  # outside a container: who may not open it here may be no server's user
    "gpu-driver-no-memory",
    "hca-was-reset",
    "host-firewall",
    "iommu-fault",
    "link-bit-errors",
    "link-flap",
    "nccl-build-differs",
    "nccl-proto-ll-forced",
    "nccl-setting-risky",
    "nccl-version-mismatch",
    "net-plugin-mismatch-between-nodes",
    "nic-tx-timeout",
    "pcie-aer-nonfatal",
    "pcie-slot-power-low",
    "port-discards",
    "receiver-not-ready",
    "roce-packet-loss",
    "server-image-differs",
    "virtual-interface-selected",
}
"""What can heal, or is not sure to be of the job: told, and the launch may start. All else is a no."""


@cache
def judged(id: str, *, nearly: bool = False) -> Fabric:
    fabric = ILL[id].nearly() if nearly else ILL[id].has()
    return fabric.model_copy(update={"findings": tuple(check_fabric(fabric))})


def told_of(id: str, row: str, *, nearly: bool = False) -> list[GateCheck]:
    return [one for one in adopted(judged(id, nearly=nearly)) if (one.id, one.note) == (row, id)]


def test_every_row_has_its_recorded_fabrics() -> None:
    assert {id for _row, id in ROWS} - set(ILL) == OF_LINKS
    assert {id for _row, id in ROWS} > NOTED


@pytest.mark.parametrize(("row", "id"), [(row, id) for row, id in ROWS if id not in OF_LINKS])
def test_the_gate_says_what_the_checks_found(row: str, id: str) -> None:
    told = told_of(id, row)
    nodes = {node.name for node in judged(id).nodes}
    assert {one.outcome for one in told} == {"noted" if id in NOTED else "differs"}
    assert {one.node for one in told} <= nodes
    assert all(one.fix and one.who and one.found and one.expected == kinds()[row].asks for one in told)
    assert (id in {one.id for one in deciding(judged(id))}) is (id not in NOTED)
    assert told_of(id, row, nearly=True) == []
