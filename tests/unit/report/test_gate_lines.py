"""A gate as one line and as Prometheus' text, whatever names and reasons hold."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.report import status_line, textfile

pytestmark = pytest.mark.unit

SAMPLE = re.compile(r'[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? [0-9.e+-]+')


def test_the_line_names_answer_nodes_and_what_failed(samples: Any) -> None:
    line = status_line(samples.gate())
    assert line.startswith("fabricdoc gate: no-go preset=pair-tree level=quick nodes=alpha seconds=0.60 ")
    assert " failed=mtu@alpha/enp1s0f0np0,torch@alpha " in line
    assert line.endswith("reason=the mtu is not the one measured: alpha/enp1s0f0np0 had 9000, has 1500")
    assert "\n" not in line


def test_a_go_without_a_preset(samples: Any) -> None:
    gate = samples.gate().model_copy(update={"answer": "go", "preset": "", "checks": (), "nodes": (), "reason": "fine"})
    assert status_line(gate) == "fabricdoc gate: go preset=- level=quick nodes=- seconds=0.60 failed=- reason=fine"


def test_what_is_waived_did_not_fail(samples: Any) -> None:
    checks = tuple(one.model_copy(update={"waived": "known"}) for one in samples.gate().checks)
    gate = samples.gate().model_copy(update={"checks": checks})
    assert " failed=- " in status_line(gate)
    assert "fabricdoc_gate_check_failed{" not in textfile(gate, 0.0)
    assert 'outcome="waived"} 3' in textfile(gate, 0.0)


def test_the_file_has_one_answer_and_every_failed_check(samples: Any) -> None:
    text = textfile(samples.gate(), 1700000000.4)
    answers = re.findall(r'fabricdoc_gate_answer\{.*answer="([a-z-]+)"\} (\d)', text)
    assert dict(answers) == {"go": "0", "no-go": "1", "could-not-tell": "0", "node-failed": "0"}
    assert 'fabricdoc_gate_check_failed{id="mtu",node="alpha",port="enp1s0f0np0"} 1\n' in text
    assert 'fabricdoc_gate_checks{preset="pair-tree",level="quick",outcome="ok"} 1\n' in text
    assert 'fabricdoc_gate_seconds{preset="pair-tree",level="quick"} 0.6\n' in text
    assert 'fabricdoc_gate_time_seconds{preset="pair-tree",level="quick"} 1700000000\n' in text
    names = re.findall(r"# TYPE (\S+) gauge", text)
    assert len(names) == len(set(names)) == 5


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=60))
def test_hostile_names_break_neither(preset: str, port: str, reason: str) -> None:
    check = GateCheck(id="mtu", node="alpha", port=port, expected="", found="", outcome="differs")
    gate = Gate(preset=preset, nodes=("alpha",), answer="no-go", reason=reason, checks=(check,))
    line = status_line(gate)
    assert len(line) <= 400
    assert line.isprintable()
    for row in textfile(gate, 1.0).splitlines():
        assert row.startswith("# ") or SAMPLE.fullmatch(row), row
