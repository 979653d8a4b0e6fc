"""Lazy front doors: a name loads its home once; anything else is an attribute error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.doors import opened

pytestmark = pytest.mark.unit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "opened_room"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from fabricdoc.doors import opened\n__getattr__ = opened(__name__, {'inner': ('thing',)})\n"
    )
    (folder / "inner.py").write_text("thing = object()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "opened_room"
    for name in [name for name in sys.modules if name.startswith("opened_room")]:
        del sys.modules[name]


def test_nothing_is_loaded_before_a_name_is_used(package: str) -> None:
    room = __import__(package)
    assert f"{package}.inner" not in sys.modules
    assert room.thing is sys.modules[f"{package}.inner"].thing


def test_a_name_is_remembered(package: str) -> None:
    room = __import__(package)
    first = room.thing
    sys.modules[f"{package}.inner"].thing = "another"
    assert room.thing is first


def test_other_names_are_attribute_errors_with_the_packages_name() -> None:
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'x'"):
        opened("json", {})("x")
