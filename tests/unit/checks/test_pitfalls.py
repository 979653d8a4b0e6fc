"""docs/scan.md's list of known pitfalls: each row names findings that scans make, or says why a scan can't see it."""

from __future__ import annotations

import re

import pytest

from fabricdoc.checks import check_fabric
from tests.fabrics.ill.every import ILL
from tests.fabrics.spark import spark_straight
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

ROWS = re.findall(
    r"^\| (.+) \| (.+) \|$",
    (TREE / "docs" / "scan.md").read_text().partition("## Known pitfalls")[2].partition("\n## ")[0],
    re.MULTILINE,
)[2:]


def ids(told: str) -> list[str]:
    """The ids a row names; options and files in backquotes are none."""
    return [word for word in re.findall(r"`([^`]+)`", told) if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", word)]


def test_the_list_is_whole() -> None:
    assert len(ROWS) == 50
    assert len({pitfall for pitfall, _told in ROWS}) == 50


@pytest.mark.parametrize(("pitfall", "told"), ROWS)
def test_every_row_names_findings_that_are_tested_or_a_reason(pitfall: str, told: str) -> None:
    assert set(ids(told)) <= set(ILL), pitfall
    assert ids(told) or re.match(r"none: .{20,}", told), pitfall


def test_what_a_scan_does_not_see_makes_no_finding_of_a_healthy_pair() -> None:
    named = {id_ for _pitfall, told in ROWS for id_ in ids(told)}
    found = {one.id for one in check_fabric(spark_straight()) if one.severity != "info"}
    assert not found & named
    assert len(named) > 80
