from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport import build_zip, probe_sources, probe_zip
from fabricdoc.transport.zipapp import needed_modules

pytestmark = pytest.mark.unit


def names(data: bytes) -> list[str]:
    return zipfile.ZipFile(BytesIO(data)).namelist()


def modules(data: bytes) -> set[str]:
    return {name.removeprefix("probes/").removesuffix(".py") for name in names(data)}


@pytest.mark.long
@pytest.mark.parametrize("module", ["scan", "beacon", "lldp", "reach", "rdma_ping", "settings", "agent"])
def test_the_zip_of_a_probe_holds_what_it_imports_and_that_is_enough(module: str, tmp_path: Path) -> None:
    path = tmp_path / "probe.zip"
    path.write_bytes(probe_zip(module))
    program = (
        "import ast, importlib, sys, zipfile\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "for name in zipfile.ZipFile(sys.argv[1]).namelist():\n"
        "    module = importlib.import_module(name[:-3].replace('/', '.'))\n"
        "    for node in ast.walk(ast.parse(zipfile.ZipFile(sys.argv[1]).read(name))):\n"
        "        if isinstance(node, ast.ImportFrom) and node.level:\n"
        "            for each in node.names:\n"
        "                wanted = f'probes.{node.module}' if node.module else f'probes.{each.name}'\n"
        "                importlib.import_module(wanted)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-c", program, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert {"__init__", "__main__", "wire", module} <= modules(probe_zip(module))


def test_the_zip_of_a_probe_leaves_out_what_it_does_not_need() -> None:
    assert "worker" in modules(probe_zip("agent"))
    assert not {"worker", "agent", "beacon", "collectives"} & modules(probe_zip("scan"))
    assert modules(probe_zip("beacon")) == {
        "__init__", "__main__", "wire", "facts",
        "beacon", "beacon_filters", "beacon_frames", "beacon_ports", "multicast",
    }  # fmt: skip


def test_sources_are_sent_as_they_are() -> None:
    archive = zipfile.ZipFile(BytesIO(probe_zip("scan")))
    assert archive.read("probes/wire.py").decode() == files("fabricdoc.probes").joinpath("wire.py").read_text()


def test_it_is_built_once_and_the_same_every_time() -> None:
    assert probe_zip("scan") is probe_zip("scan")
    sources = probe_sources()
    assert build_zip(sources) == build_zip(dict(reversed(list(sources.items()))))


def test_it_stays_small_enough_to_send_to_every_node() -> None:
    assert all(len(probe_zip(module)) < 128 * 1024 for module in ("scan", "beacon", "lldp", "reach", "agent"))


def test_imports_are_found_in_every_form() -> None:
    sources = {
        "probes/a.py": "from . import b, c\n",
        "probes/b.py": "def f():\n    from .d import g\n",
        "probes/c.py": "from . import (\n    e,\n    f,\n)\n",
        "probes/d.py": "from .a import x\nimport z\n",
        "probes/e.py": "",
        "probes/f.py": "# from .z import y\n",
        "probes/z.py": "",
    }
    assert needed_modules(sources, "a") == set("abcdef")
    assert needed_modules(sources, "e") == {"e"}
    assert needed_modules(sources, "absent") == set()


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}\.py", fullmatch=True), st.text(st.characters(codec="utf-8")), max_size=5)
)
def test_what_goes_in_comes_out(sources: dict[str, str]) -> None:
    archive = zipfile.ZipFile(BytesIO(build_zip(sources)))
    assert {name: archive.read(name).decode() for name in archive.namelist()} == sources


def test_the_probes_import_nothing_of_fabricdoc() -> None:
    guilty = [path for path, text in probe_sources().items() if "import fabricdoc" in text or "from fabricdoc" in text]
    assert guilty == []
