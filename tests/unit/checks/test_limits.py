"""Numbers and tables of presets/: read once, floats, unknown names are errors; every number that is there is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fabricdoc
from fabricdoc.checks import limits
from fabricdoc.checks.limits import checks_data, limit, preset

pytestmark = pytest.mark.unit

CODE = "".join(path.read_text() for path in Path(fabricdoc.__file__).parent.rglob("*.py"))


def test_a_number_is_a_float_whatever_the_file_says() -> None:
    found = limit("memory", "shm_mib")
    assert isinstance(found, float) and found == checks_data("limits")["memory"]["shm_mib"]


@pytest.mark.parametrize(("family", "name"), [("memory", "none"), ("none", "shm_mib")])
def test_a_name_that_is_not_there_is_an_error(family: str, name: str) -> None:
    with pytest.raises(KeyError):
        limit(family, name)


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        preset("checks", "none")


def test_a_file_is_read_once() -> None:
    assert preset("platforms", "gb10") is preset("platforms", "gb10")
    assert limits.preset.cache_info().hits > 0


def test_every_limit_is_used() -> None:
    for family, numbers in checks_data("limits").items():
        for name in numbers:
            assert re.search(rf'"{name}"|limit\("{family}", family\)', CODE) or family == "environment", (family, name)


def test_every_limit_is_a_plain_number_above_nought() -> None:
    for numbers in checks_data("limits").values():
        assert all(isinstance(one, int | float) and one > 0 for one in numbers.values())
