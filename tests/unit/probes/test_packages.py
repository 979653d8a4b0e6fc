"""torch's version without torch: from package metadata on the path python would search."""

from __future__ import annotations

import site
import sys
from pathlib import Path

import pytest

from fabricdoc.probes import packages
from fabricdoc.probes.facts import is_unknown

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("torch-2.13.0+cpu.dist-info", "2.13.0+cpu"),
        ("torch-2.9.0a0+145a3a7.nv25.10.dist-info", "2.9.0a0+145a3a7.nv25.10"),
        ("torch-2.1.0-py3.10.egg-info", "2.1.0"),
        ("torch-2.1.0.egg-info", "2.1.0"),
    ],
)
def test_torchs_version_from_its_metadata(tmp_path: Path, name: str, version: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "torchvision-0.9.dist-info").mkdir()
    assert packages.torch_version([f"{tmp_path}/gone", str(tmp_path)]) == version


def test_other_packages_are_not_torch(tmp_path: Path) -> None:
    for name in ("torch_geometric-2.0.dist-info", "torch-2.1.0", "pytorch-2.0.dist-info", "torch"):
        (tmp_path / name).mkdir()
    assert is_unknown(packages.torch_version([str(tmp_path)]))


def test_the_first_torch_on_the_path_counts(tmp_path: Path) -> None:
    for folder, version in (("a", "2.9.0"), ("b", "2.13.0")):
        (tmp_path / folder / f"torch-{version}.dist-info").mkdir(parents=True)
    path = packages.import_path({"PYTHONPATH": f"{tmp_path}/a::{tmp_path}/b"})
    assert path[:2] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert packages.torch_version(path) == "2.9.0"


def test_the_path_holds_the_user_folder_and_pythons_own() -> None:
    path = packages.import_path({})
    assert path[0] == site.getusersitepackages()
    assert path[1:] == [one for one in sys.path if one]
