"""What is installed is what is in the tree: packages, data files, and the two links, each once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.unit.house.house import LINKED, PACKAGE, TREE, module_name, sources

pytestmark = pytest.mark.unit

PYPROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
# Folders that belong in a build: the rest of a checkout (tests, docs, caches) stays out of it.
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "fabricdoc", "probes", "presets")


def data_files() -> set[str]:
    """Files below presets/ that are not code, relative to it."""
    folder = LINKED["presets"]
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in files if path.suffix not in (".py", ".pyc")}


def test_every_package_is_listed_and_every_listed_one_exists() -> None:
    in_tree = {module_name(path) for path in sources() if path.name == "__init__.py"}
    assert set(SETUPTOOLS["packages"]) == in_tree
    assert len(SETUPTOOLS["packages"]) == len(in_tree)


def test_every_folder_with_code_is_a_package() -> None:
    lost = {str(path.parent.relative_to(TREE)) for path in sources() if not (path.parent / "__init__.py").exists()}
    assert not lost


def test_presets_has_data_only_in_its_folders() -> None:
    assert [path.name for path in LINKED["presets"].rglob("*.py")] == ["__init__.py"]


def test_every_preset_file_is_package_data() -> None:
    folder = LINKED["presets"]
    covered = {
        str(path.relative_to(folder))
        for pattern in SETUPTOOLS["package-data"]["fabricdoc.presets"]
        for path in folder.glob(pattern)
    }
    assert data_files() == covered


@pytest.mark.parametrize("name", sorted(LINKED))
def test_links_point_to_the_top_folders(name: str) -> None:
    link = PACKAGE / name
    assert link.is_symlink()
    assert os.fspath(link.readlink()) == f"../{name}"


@pytest.mark.parametrize("name", sorted(LINKED))
def test_links_are_links_in_git(name: str) -> None:
    if not (TREE / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={TREE}", "ls-files", "-s", f"fabricdoc/{name}"],
        cwd=TREE,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert listed.stdout.split()[:1] == ["120000"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built by the build backend itself from a copy, so that the tree stays clean."""
    pytest.importorskip("setuptools", minversion="80", reason="the build backend is not in this environment")
    place = tmp_path_factory.mktemp("build")
    for name in BUILT_FROM:
        source = TREE / name
        if source.is_dir():
            shutil.copytree(source, place / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, place)
    build = "from setuptools import build_meta; build_meta.build_wheel('out')"
    subprocess.run([sys.executable, "-c", build], cwd=place, capture_output=True, timeout=100, check=True)
    (built,) = (place / "out").glob("*.whl")
    return built


@pytest.mark.long
def test_the_wheel_holds_every_module_and_data_file_once(wheel: Path) -> None:
    code = [f"{module_name(path).replace('.', '/')}.py" for path in sources() if path.name != "__init__.py"]
    roots = [f"{module_name(path).replace('.', '/')}/__init__.py" for path in sources() if path.name == "__init__.py"]
    data = [f"fabricdoc/presets/{name}" for name in data_files()]
    with zipfile.ZipFile(wheel) as archive:
        held = Counter(name for name in archive.namelist() if ".dist-info/" not in name)
    assert held == Counter(code + roots + data)


def test_the_wheel_brings_neither_torch_nor_pandas_unasked(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        needs = message_from_bytes(archive.read(name)).get_all("Requires-Dist") or []
    unasked = [need for need in needs if "extra ==" not in need]
    assert sorted(unasked) == sorted(unasked_by_pyproject())
    assert not [need for need in unasked if need.startswith(("torch", "pandas", "pyarrow", "numpy", "ibverbs"))]


def unasked_by_pyproject() -> list[str]:
    """The dependencies as setuptools writes them: specifiers sorted."""
    requirements = pytest.importorskip("packaging.requirements", reason="pytest brings packaging")
    return [str(requirements.Requirement(need)) for need in PYPROJECT["project"]["dependencies"]]


def test_the_wheel_carries_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith("/LICENSE")]
    assert texts == [(TREE / "LICENSE").read_text()]
    assert "Apache License" in texts[0]
    assert "END OF TERMS AND CONDITIONS" in texts[0]
