"""docs/findings.md says what presets/findings.csv and the rooms say, and every id a room names is in the list."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

from fabricdoc.checks import load_catalogue
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

_spec = importlib.util.spec_from_file_location("fabricdoc_findings", TREE / "tools" / "findings.py")
assert _spec and _spec.loader
findings = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = findings
_spec.loader.exec_module(findings)


def test_the_committed_page_is_current() -> None:
    assert findings.main(["--check"]) == 0, "run: make schemas"


def test_a_page_that_is_not_current_is_told(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(findings, "PAGE", tmp_path / "findings.md")
    assert findings.main(["--check"]) == 1
    assert "make schemas" in capsys.readouterr().err
    assert findings.main([]) == 0 == findings.main(["--check"])


def test_every_row_has_an_id_of_the_list_and_a_command() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \| ([^|]+) \|$", findings.page(), re.MULTILINE)
    catalogue = load_catalogue()
    assert len(rows) > 100
    assert all(catalogue[id_].meaning == meaning for id_, meaning, _command in rows)
    assert {command for _id, _meaning, command in rows} <= set(findings.COMMANDS.values())


def test_every_id_that_a_check_gives_is_in_the_list() -> None:
    given = set()
    for room in ("checks", "fabric", "dumps", "gate", "workflow"):
        for path in (TREE / "fabricdoc" / room).rglob("*.py"):
            given |= set(re.findall(r"Finding\(\s*id=\"([^\"]+)\"", path.read_text()))
    assert given
    assert given <= set(load_catalogue())
