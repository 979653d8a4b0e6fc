"""Recorded logs of real NCCL (tests/fixtures/nccl_logs): the broken ones get their cause, the healthy ones none."""

from __future__ import annotations

import pytest

from fabricdoc.explain import explain_files
from fabricdoc.nccl import LogReader
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

LOGS = TREE / "tests" / "fixtures" / "nccl_logs"
BROKEN = {
    "ib_cable_down.log": "link-flap",
    "ib_device_fatal.log": "hca-health",
    "ib_gid_index_empty.log": "wrong-gid-index",
    "ib_merge_wrong_name.log": "force-merge-unknown-hca",
    "ib_selector_matches_nothing.log": "ib-hca-matches-nothing",
    "ib_port_down.log": "ib-hca-matches-nothing",
    "warnings.log": "hca-health",  # a collection of warnings of many kinds
}
ALL = sorted(path.name for path in LOGS.glob("*.log"))


@pytest.mark.parametrize("name", ALL)
def test_a_recorded_log_gets_its_cause_or_none(name: str) -> None:
    document = explain_files([str(LOGS / name)])
    assert document.verdict == BROKEN.get(name, "none")


@pytest.mark.parametrize("name", ALL)
def test_every_warning_of_a_recorded_log_is_understood(name: str) -> None:
    reader = LogReader((LOGS / name).read_text())
    assert list(reader)
    assert reader.unknown_warnings == 0
