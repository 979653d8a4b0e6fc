"""Where fabricdoc's own data and modules lie."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from fabricdoc import files as subject
from fabricdoc.files import own_folder

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "inside"), [("presets", "findings.csv"), ("probes", "scan.py")])
def test_it_is_beside_the_package(name: str, inside: str) -> None:
    assert (
        own_folder(name).joinpath(inside).read_text("utf-8") == files(f"fabricdoc.{name}").joinpath(inside).read_text()
    )


def test_elsewhere_the_import_system_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subject, "__file__", str(tmp_path / "files.py"))
    assert own_folder("presets").joinpath("findings.csv").is_file()
