"""explain's job: progress, the document, and the status that follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import ExitStatus, InputError
from fabricdoc.model.findings import Finding, Findings, Severity
from fabricdoc.workflow import explain_paths, explain_status
from tests.excerpts import log, warn

pytestmark = pytest.mark.unit


def document(verdict: str, *severities: Severity) -> Findings:
    return Findings(verdict=verdict, findings=tuple(Finding(id="x", severity=one, subject="s") for one in severities))


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (document("none"), ExitStatus.FIT),
        (document("none", "info"), ExitStatus.FIT),
        (document("x", "warning", "info"), ExitStatus.FIT),
        (document("x", "error"), ExitStatus.NOT_FIT),
        (document("unknown", "warning"), ExitStatus.INCONCLUSIVE),
    ],
)
def test_the_status_follows_from_the_document(made: Findings, status: ExitStatus) -> None:
    assert explain_status(made) is status


def test_what_is_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log("alpha", warn("x.cc:1", "new")))
    said: list[str] = []
    assert explain_paths([str(tmp_path)], said.append).verdict == "unknown"
    assert said == [f"reading {tmp_path}"[: len("reading ") + 60]]


def test_several_paths_are_counted(tmp_path: Path) -> None:
    said: list[str] = []
    for name in ("a", "b"):
        (tmp_path / name).write_text("x\n")
    explain_paths([str(tmp_path / "a"), str(tmp_path / "b")], said.append)
    assert said == ["reading 2 paths"]


def test_a_missing_path_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        explain_paths([str(tmp_path / "nowhere")], print)
