"""Whether a preset may be asked about these nodes and this job: its time, its nodes, its profile."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fabricdoc.errors import InputError
from fabricdoc.gate import Contrary, Job
from fabricdoc.gate.refusals import judge_refusals
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset

pytestmark = pytest.mark.unit

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def judged(preset: Preset, fabric: Fabric, job: Job | None = None) -> tuple[dict[str, list[GateCheck]], list[Any]]:
    checks, findings = judge_refusals(preset, fabric, job or Job(), NOW)
    found: dict[str, list[GateCheck]] = {}
    for one in checks:
        found.setdefault(one.id, []).append(one)
    return found, findings


def test_a_preset_asked_as_it_was_measured_holds(preset: Preset, fabric: Fabric) -> None:
    checks, findings = judged(preset, fabric, Job(asked=("alpha", "beta"), profile="tiny"))
    assert {id: [one.outcome for one in some] for id, some in checks.items()} == {
        "preset-expired": ["ok"],
        "preset-nodes": ["ok"],
        "profile": ["ok"],
    }
    assert findings == []


@pytest.mark.parametrize(
    ("expires", "outcome"),
    [("", "ok"), ("2026-06-01T12:00:01Z", "ok"), ("2026-06-01T12:00:00Z", "differs"), ("2026-05-31", "differs")],
)
def test_the_presets_own_time(preset: Preset, fabric: Fabric, expires: str, outcome: str) -> None:
    checks, _ = judged(preset.model_copy(update={"expires": expires}), fabric)
    (one,) = checks["preset-expired"]
    assert (one.outcome, one.found) == (outcome, "2026-06-01T12:00:00Z")


def test_a_time_that_is_none_is_an_input_error(preset: Preset, fabric: Fabric) -> None:
    with pytest.raises(InputError):
        judged(preset.model_copy(update={"expires": "soon"}), fabric)


def test_a_foreign_preset_is_refused_with_the_difference(preset: Preset, fabric: Fabric) -> None:
    checks, (finding,) = judged(preset, fabric, Job(asked=("alpha", "gamma", "delta")))
    (one,) = checks["preset-nodes"]
    assert (one.outcome, one.expected, one.found) == ("differs", "alpha, beta", "alpha, gamma, delta")
    assert finding.id == "gate-preset-foreign"
    assert "gamma, delta are none of its nodes" in finding.cause
    assert finding.fix[-1] == "fabricdoc gate --nodes alpha=TARGET,beta=TARGET"


def test_fewer_nodes_are_the_fingerprints_to_tell(preset: Preset, fabric: Fabric) -> None:
    checks, _ = judged(preset, fabric, Job(asked=("alpha",)))
    assert [one.outcome for one in checks["preset-nodes"]] == ["ok"]


def test_another_profile_is_refused_with_the_bench_that_measures_it(preset: Preset, fabric: Fabric) -> None:
    checks, (finding,) = judged(preset, fabric, Job(profile="large"))
    (one,) = checks["profile"]
    assert (one.expected, one.found) == ("profile tiny", "profile large")
    assert finding.id == "gate-profile-differs"
    assert finding.fix[-1].startswith("fabricdoc bench --nodes ")
    assert finding.fix[-1].endswith("--profile large")


def test_every_contrary_word_of_a_launch_line_is_a_check_and_one_finding(preset: Preset, fabric: Fabric) -> None:
    job = Job(contrary=(Contrary("engine", "vllm", "sglang"), Contrary("prefill chunk", "8192", "2048")))
    checks, findings = judged(preset, fabric, job)
    assert [(one.expected, one.found) for one in checks["profile"]] == [
        ("engine vllm", "engine sglang"),
        ("prefill chunk 8192", "prefill chunk 2048"),
    ]
    (finding,) = findings
    assert [one.text for one in finding.evidence] == ["engine sglang", "prefill chunk 2048"]
    assert "measured for engine vllm, the job has engine sglang" in finding.cause
    assert finding.fix[-1].endswith("--profile NAME")


def test_what_refuses_nothing_is_named_beside_what_does(preset: Preset, fabric: Fabric) -> None:
    """A profile of no one model: no job is as it was measured for."""
    soft = Contrary("prefill chunk", "512", "2048", refuses=False)
    checks, findings = judged(preset, fabric, Job(contrary=(soft,)))
    (one,) = checks["profile"]
    assert (one.outcome, one.expected, one.found) == ("noted", "prefill chunk 512", "prefill chunk 2048")
    assert one.fix[-1].endswith("--profile NAME")
    assert findings == []
    checks, (finding,) = judged(preset, fabric, Job(contrary=(soft, Contrary("engine", "vllm", "sglang"))))
    assert [one.outcome for one in checks["profile"]] == ["differs", "noted"]
    assert [one.text for one in finding.evidence] == ["engine sglang"]
    assert "prefill" not in finding.cause
