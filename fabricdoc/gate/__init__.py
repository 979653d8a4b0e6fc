"""May this job start with this preset, here and now? The fingerprint against a fresh look at the fabric.

Public: `judge_gate(preset, fabric) -> Gate` and `gate_status(gate) -> ExitStatus`. The room compares two
documents; looking at the nodes, setting variables and starting the job belong to others.
"""

from fabricdoc.gate.judge import gate_status, judge_gate

__all__ = ["gate_status", "judge_gate"]
