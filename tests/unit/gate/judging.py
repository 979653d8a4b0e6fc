"""The fingerprint judged alone, as a whole gate document: what most tests of this room ask."""

from __future__ import annotations

from fabricdoc.gate import Terms, conclude
from fabricdoc.gate.fingerprint import judge_fingerprint
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Preset


def judge_gate(preset: Preset, fabric: Fabric) -> Gate:
    """As `fabricdoc gate` would, were the fingerprint all it looks at."""
    checks, findings = judge_fingerprint(preset, fabric)
    return conclude(Terms(preset=preset.name), [node.name for node in preset.nodes], checks, findings)
