from __future__ import annotations

import zipfile
from importlib.resources import files
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport import build_zip, probe_sources, probe_zip

pytestmark = pytest.mark.unit


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(BytesIO(data)).namelist()


def test_the_zip_holds_every_module_of_the_probes() -> None:
    folder = files("fabricdoc.probes")
    wanted = sorted(f"probes/{item.name}" for item in folder.iterdir() if item.name.endswith(".py"))
    assert names(probe_zip()) == wanted
    assert {"probes/__init__.py", "probes/__main__.py", "probes/wire.py"} <= set(wanted)
    archive = zipfile.ZipFile(BytesIO(probe_zip()))
    assert archive.read("probes/wire.py").decode() == (folder / "wire.py").read_text()


def test_it_is_built_once_and_the_same_every_time() -> None:
    assert probe_zip() is probe_zip()
    assert build_zip(probe_sources()) == probe_zip()
    assert build_zip(dict(reversed(list(probe_sources().items())))) == probe_zip()


def test_it_stays_small_enough_to_send_to_every_node() -> None:
    assert len(probe_zip()) < 256 * 1024


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}\.py", fullmatch=True), st.text(st.characters(codec="utf-8")), max_size=5)
)
def test_what_goes_in_comes_out(sources: dict[str, str]) -> None:
    archive = zipfile.ZipFile(BytesIO(build_zip(sources)))
    assert {name: archive.read(name).decode() for name in archive.namelist()} == sources


def test_the_probes_import_nothing_of_fabricdoc() -> None:
    guilty = [path for path, text in probe_sources().items() if "import fabricdoc" in text or "from fabricdoc" in text]
    assert guilty == []
