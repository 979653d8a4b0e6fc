"""The RoCE lab for its tests: one boot for all of them, put right again after each."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab, missing_tools, open_roce_lab


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly why the lab did not run, whatever the verbosity."""
    reason = why_not()
    if reason and any("tests/roce" in report.nodeid for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.section("the RoCE lab was NOT run", sep="!")
        terminalreporter.write_line(reason)


def why_not() -> str:
    """Why this machine can't run the lab, or nothing."""
    if platform.machine() != "x86_64":
        return f"its guests are built for x86_64, this machine is {platform.machine()}"
    missing = missing_tools()
    return f"not installed here: {', '.join(missing)}; `make deps` installs them" if missing else ""


@pytest.fixture(scope="session")
def booted() -> Iterator[RoceLab]:
    """Both guests; skipped only where the machine lacks what it takes."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with open_roce_lab() as lab:
        yield lab


@pytest.fixture(scope="module")
def healthy(booted: RoceLab) -> Fabric:
    """A scan of the healthy lab, one for a module's tests."""
    return booted.scan()


@pytest.fixture
def lab(booted: RoceLab) -> Iterator[RoceLab]:
    """The healthy lab; whatever the test does to it is undone."""
    yield booted
    booted.restore()
