"""Where fabricdoc's own data and modules lie."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import ClassVar

import pytest

from fabricdoc import files as subject
from fabricdoc.files import own_folder, parse_toml, shipped
from fabricdoc.model.documents import Frozen
from fabricdoc.model.policy import Policy

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "inside"), [("presets", "findings.csv"), ("probes", "scan.py")])
def test_it_is_beside_the_package(name: str, inside: str) -> None:
    assert (
        own_folder(name).joinpath(inside).read_text("utf-8") == files(f"fabricdoc.{name}").joinpath(inside).read_text()
    )


def test_elsewhere_the_import_system_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(subject, "__file__", str(tmp_path / "files.py"))
    assert own_folder("presets").joinpath("findings.csv").is_file()


def test_a_shipped_file_is_read_once_and_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = parse_toml(own_folder("presets").joinpath(Policy.place).read_text("utf-8"))
    assert shipped(Policy) == Policy.model_validate(whole)
    assert shipped(Policy) is shipped(Policy)

    class Odd(Frozen):
        place: ClassVar[str] = "odd.toml"
        number: int

    monkeypatch.setattr(subject, "own_folder", lambda _: tmp_path)
    (tmp_path / "odd.toml").write_text("number = 'x'\n")
    with pytest.raises(ValueError, match="number"):
        shipped(Odd)
    (tmp_path / "odd.toml").write_text("number = 3\n")
    assert shipped(Odd).number == 3
    (tmp_path / "odd.toml").unlink()
    assert shipped(Odd).number == 3, "a second reading would fail"
