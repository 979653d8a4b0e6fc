"""Findings: cause first, fix to paste, evidence last."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.report.findings import MOST_EVIDENCE, finding_counts, is_command, render_findings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("fix", "command"),
    [
        ("sudo ip link set dev p0 mtu 9000", True),
        ("fabricdoc bench --nodes a,b", True),
        ("export NCCL_NET=IB", True),
        ("put the cable back: alpha/p0 to beta/p1", False),
        ("run as root on that node", False),
        ("on alpha:", False),
        ("sudo", False),
        ("docker is not needed here, use podman.", False),
    ],
)
def test_commands_are_told_from_sentences(fix: str, command: bool) -> None:
    assert is_command(fix) is command


def test_errors_come_first_and_keep_their_order(samples: Any, shown: Any) -> None:
    first = samples.findings[1].model_copy(update={"id": "the-cause", "cause": "the cause"})
    text = shown(render_findings((samples.findings[0], first, samples.findings[1])))
    assert text.index("[the-cause]") < text.index("[port-no-carrier]") < text.index("mtu-mismatch")


def test_cause_then_fix_then_evidence(samples: Any, shown: Any) -> None:
    rows = shown(render_findings(samples.findings[:1])).splitlines()
    assert rows[0].startswith("warning (likely): The MTU differs")
    at = rows.index("  fix:")
    assert rows[at + 1 : at + 3] == ["    on beta:", "    sudo ip link set dev enp1s0f1np1 mtu 9000"]
    assert rows[at + 3 :] == ["  seen: alpha: mtu 9000", "  seen: nccl.log:12: WARN x"]


def test_a_finding_without_cause_shows_its_subject(shown: Any) -> None:
    text = shown(render_findings((Finding(id="x", severity="info", subject="alpha/p0"),)))
    assert text == "info: alpha/p0  [x]\n"


def test_much_evidence_is_counted(shown: Any) -> None:
    evidence = tuple(Evidence(file="log", line=number, text="x") for number in range(MOST_EVIDENCE + 3))
    text = shown(render_findings((Finding(id="x", severity="info", subject="a", evidence=evidence),)))
    assert text.count("seen:") == MOST_EVIDENCE
    assert "and 3 more" in text


def test_counts(samples: Any) -> None:
    assert finding_counts(()) == [("nothing wrong", "green")]
    assert [word if isinstance(word, str) else word[0] for word in finding_counts(samples.findings)] == [
        "1 error",
        ", ",
        "1 warning",
    ]
    assert [word[0] for word in finding_counts(samples.findings[:1])] == ["1 warning"]
