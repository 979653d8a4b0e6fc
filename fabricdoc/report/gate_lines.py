"""A gate for machines that are not `--json`: one line for a prolog's log, and Prometheus' text format.

The text format is version 0.0.4 as node_exporter's textfile collector reads it. Writes nothing.
"""

from __future__ import annotations

import re
from collections import Counter

from fabricdoc.model.gate import Gate
from fabricdoc.report.text import clean

MOST = 400
LABEL = re.compile(r'[\\"\n]')
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
ANSWERS = ("go", "no-go", "could-not-tell", "node-failed")


def status_line(gate: Gate) -> str:
    """`fabricdoc gate: no-go preset=pair level=quick nodes=a,b seconds=0.6 failed=mtu@a/p0 reason=...`."""
    bad = [one for one in gate.checks if one.outcome in ("differs", "failed", "unknown") and not one.waived]
    failed = ",".join(dict.fromkeys(f"{one.id}@{one.place}" if one.place else one.id for one in bad)) or "-"
    words = [
        f"fabricdoc gate: {gate.answer}",
        f"preset={gate.preset or '-'}",
        f"level={gate.level}",
        f"nodes={','.join(gate.nodes) or '-'}",
        f"seconds={gate.seconds:.2f}",
        f"failed={failed}",
        f"reason={gate.reason}",
    ]
    return clean(" ".join(" ".join(words).split()))[:MOST]


def textfile(gate: Gate, at: float) -> str:
    """Gauges of the answer, its time and its checks; `at` is when (Unix seconds)."""
    common = _labels(preset=gate.preset, level=gate.level)
    lines = ["# HELP fabricdoc_gate_answer 1 for the answer of the last gate.", "# TYPE fabricdoc_gate_answer gauge"]
    lines += [
        f"fabricdoc_gate_answer{{{common},{_labels(answer=answer)}}} {int(answer == gate.answer)}" for answer in ANSWERS
    ]
    counts = Counter("waived" if one.waived else one.outcome for one in gate.checks)
    lines += _gauge("checks", "Checks of the last gate by outcome.")
    for outcome in ("ok", "noted", "differs", "unknown", "failed", "waived"):
        lines.append(f"fabricdoc_gate_checks{{{common},{_labels(outcome=outcome)}}} {counts[outcome]}")
    lines += _gauge("check_failed", "1 for each check of the last gate that refused, by node and port.")
    for one in dict.fromkeys(
        (c.id, c.node, c.port) for c in gate.checks if c.outcome in ("differs", "failed") and not c.waived
    ):
        lines.append(f"fabricdoc_gate_check_failed{{{_labels(id=one[0], node=one[1], port=one[2])}}} 1")
    lines += [
        *_gauge("seconds", "How long the last gate took."),
        f"fabricdoc_gate_seconds{{{common}}} {gate.seconds:g}",
    ]
    lines += [*_gauge("time_seconds", "When the last gate ended."), f"fabricdoc_gate_time_seconds{{{common}}} {at:.0f}"]
    return "\n".join(lines) + "\n"


def _gauge(name: str, what: str) -> list[str]:
    return [f"# HELP fabricdoc_gate_{name} {what}", f"# TYPE fabricdoc_gate_{name} gauge"]


def _labels(**labels: str) -> str:
    return ",".join(f'{name}="{LABEL.sub(lambda m: ESCAPES[m[0]], clean(value))}"' for name, value in labels.items())
