"""The zip of the probes with the tests' own probe in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.transport import build_zip, probe_sources


@pytest.fixture(scope="session")
def payload() -> bytes:
    sources = {**probe_sources(), "probes/echo.py": Path(__file__).with_name("echo_probe.py").read_text()}
    sources["probes/__main__.py"] = sources["probes/__main__.py"].replace("MODULES = (", 'MODULES = ("echo", ')
    return build_zip(sources)
