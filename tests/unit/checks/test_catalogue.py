"""The one list of ids: complete, unique, and every check's id is in it."""

from __future__ import annotations

import csv
import re
from importlib import resources
from pathlib import Path

import pytest

import fabricdoc
from fabricdoc.checks import load_catalogue

pytestmark = pytest.mark.unit

ROOT = Path(fabricdoc.__file__).parent


def test_every_row_is_whole_and_every_id_unique() -> None:
    text = resources.files("fabricdoc.presets").joinpath("findings.csv").read_text(encoding="utf-8")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["id", "family", "meaning", "decided_by"]
    assert all(len(row) == 4 and all(row) for row in rows)
    assert len(load_catalogue()) == len(rows) - 1


def test_ids_are_lower_case_words() -> None:
    for known in load_catalogue():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", known), known


def test_every_finding_that_checks_and_fabric_make_is_listed() -> None:
    made = set()
    for source in (*(ROOT / "checks").glob("*.py"), *(ROOT / "fabric").glob("*.py")):
        text = source.read_text(encoding="utf-8")
        made |= set(re.findall(r'Finding\(\s*id="([^"]+)"', text)) | set(
            re.findall(r'_group_finding\(\s*"([^"]+)"', text)
        )
    assert len(made) >= 10
    assert made <= set(load_catalogue())


def test_the_list_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        load_catalogue()["new"] = load_catalogue()["none"]  # type: ignore[index]


def test_the_two_answers_that_are_no_cause_are_there() -> None:
    assert {"none", "unknown"} <= set(load_catalogue())


SEEN_BY_A_SCAN = ("scan", "counters", "kernel log", "env + scan", "GID table")


def test_every_id_that_a_scan_decides_has_a_check_that_makes_it() -> None:
    presets = ROOT / "presets"
    sources = [*(ROOT / "checks").glob("*.py"), *(ROOT / "fabric").glob("*.py"), *(presets / "checks").glob("*.toml")]
    text = "".join(path.read_text(encoding="utf-8") for path in (*sources, *(presets / "signatures").glob("*.toml")))
    for one in load_catalogue().values():
        if one.decided_by in SEEN_BY_A_SCAN:
            kind = one.id.rpartition("-")[0]
            assert f'"{one.id}"' in text or f"[finding.{one.id}]" in text or f'f"{kind}-{{' in text, one.id
