"""Remarks as findings: the models take them, evidence is verbatim, secrets are not in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.findings import Findings
from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint import lint_text
from fabricdoc.nccl.lint_findings import as_findings, by_severity, verbatim
from fabricdoc.nccl.lint_output import SHOWN_LINE
from fabricdoc.nccl.lint_settings import Place, Remark

pytestmark = pytest.mark.unit

ENV = "NCCL_DEBUG=INFO\nNCCL_IB_HCA==mlx5_0, mlx5_1\nNCCL_IB_TC=\nNCCL_PROTO=^LL\n"


def test_the_worst_comes_first_and_is_the_verdict() -> None:
    payload = as_findings(lint_text("a.env", ENV))
    assert payload["verdict"] == "selector-space"
    assert [one["severity"] for one in payload["findings"]] == ["error", "error", "warning", "info"]
    assert as_findings(()) == {"verdict": "none", "findings": []}


def test_a_document_of_kind_findings_takes_them() -> None:
    """The dictionaries are written without the models, so the models check them here: the same keys, the same order."""
    payload = as_findings(lint_text("a.env", ENV)) | {"considered": [], "collect": [], "files": []}
    document = Findings.model_validate_json(json.dumps(payload), strict=True)
    again = json.loads(document.model_dump_json(by_alias=True))
    assert {key: again[key] for key in payload} == payload
    assert [list(one) for one in again["findings"]] == [list(one) for one in payload["findings"]]
    assert [key for key in again if key in payload] == list(payload)


def test_evidence_is_the_line_as_it_stands() -> None:
    first = as_findings(lint_text("a.env", ENV))["findings"][0]
    assert first["evidence"] == [{"file": "a.env", "line": 2, "text": "NCCL_IB_HCA==mlx5_0, mlx5_1"}]
    assert first["fix"] == ["NCCL_IB_HCA==mlx5_0,mlx5_1"] and first["subject"] == "NCCL_IB_HCA"


@pytest.mark.parametrize(
    "line",
    [
        "docker run -e HF_TOKEN=hf_abcdefgh1234 -e NCCL_IB_TIMEOUT=99 --shm-size 8g image --api-key sk-1234567890",
        "NCCL_IB_TIMEOUT=99 OPENAI_API_KEY=sk-1234567890abc python x.py",
        "curl https://user:hunter22@host/x; export NCCL_IB_TIMEOUT=99",
    ],
)
def test_of_a_line_with_a_secret_only_the_setting_is_evidence(line: str) -> None:
    (finding,) = as_findings(lint_text("run.sh", line + "\n"))["findings"]
    text = finding["evidence"][0]["text"]
    assert text.startswith("NCCL_IB_TIMEOUT=99") and text in line
    assert not any(secret in json.dumps(finding) for secret in ("hf_abc", "sk-123", "hunter22"))


def test_a_secret_in_the_part_itself_is_masked() -> None:
    place = Place("a", 1, 1, "NCCL_X=hf_abcdefgh1234")
    assert verbatim(place) == "NCCL_X=***"


def test_of_a_very_long_line_a_part_is_evidence() -> None:
    line = f"docker run {'-v /x:/x ' * 200}-e NCCL_IB_TIMEOUT=99 image"
    (finding,) = as_findings(lint_text("run.sh", line + "\n"))["findings"]
    text = finding["evidence"][0]["text"]
    assert text.startswith("NCCL_IB_TIMEOUT=99") and len(text) <= SHOWN_LINE and text in line


@given(st.text(max_size=60), st.text(max_size=300), st.integers(1, 400), st.text(max_size=60))
def test_whatever_stands_there_is_a_document(file: str, text: str, column: int, message: str) -> None:
    remark = Remark(Complaint("bad-value", "NCCL_X", message, message), file, 1, column, 3, text)
    dumped = json.dumps(as_findings([remark])).encode()
    Findings.model_validate_json(dumped, strict=True)


def test_by_severity_keeps_the_order_of_lines() -> None:
    found = by_severity(lint_text("a.env", ENV))
    assert [one.line for one in found if one.complaint.severity == "error"] == [2, 4]
