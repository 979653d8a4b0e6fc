"""The zip of the probes with the tests' own probe in it, and stand-ins for the clients of schedulers and runtimes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricdoc.transport import build_zip, probe_sources
from tests.unit.transport.clients import Clients


@pytest.fixture(scope="session")
def payload() -> bytes:
    sources = {**probe_sources(), "probes/echo.py": Path(__file__).with_name("echo_probe.py").read_text()}
    sources["probes/__main__.py"] = sources["probes/__main__.py"].replace("MODULES = (", 'MODULES = ("echo", ')
    return build_zip(sources)


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Clients(folder)


@pytest.fixture
def allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    """As inside `salloc`: job 4711 on node01, node02 and gpu3."""
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[01-02],gpu3")
