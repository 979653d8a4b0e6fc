"""The gate document: may this job start with this preset, here and now?"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.findings import Finding


class GateCheck(Frozen):
    """One fact of the fingerprint compared: expected (then) against seen (now)."""

    id: str
    node: str
    subject: str
    expected: str
    seen: str
    outcome: Literal["ok", "differs", "unknown"]


class Gate(Document):
    """`answer` decides the exit status: fit 0, not-fit 1, could-not-tell 3."""

    kind: ClassVar[str] = "gate"

    preset: str
    level: Literal["quick"] = "quick"
    answer: Literal["fit", "not-fit", "could-not-tell"]
    reason: str
    checks: tuple[GateCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
