"""The gate document: may this job start with this preset, here and now?"""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import Document, Frozen
from fabricdoc.model.findings import Finding

Outcome = Literal["ok", "noted", "differs", "unknown", "failed"]
Answer = Literal["go", "no-go", "could-not-tell", "node-failed"]
Level = Literal["quick", "smoke", "full"]
Drift = Literal["report", "fail"]


class GateCheck(Frozen):
    """One thing that was looked at: what was expected, what was found, and what is to be done by whom.

    `id` is stable (presets/gate). `port` is "" for what is of the whole node, `node` too for what is of all. `noted`
    decides nothing; `failed` is a node that gave no answer. `who` is administrator, launcher or measurer. `waived` is
    the reason for which the outcome does not count.
    """

    id: str
    node: str
    port: str = ""
    outcome: Outcome
    expected: str
    found: str
    note: str = ""
    fix: tuple[str, ...] = ()
    who: str = ""
    waived: str = ""

    @property
    def place(self) -> str:
        """ "node/port", the node, or ""."""
        return f"{self.node}/{self.port}" if self.port else self.node


class Waiver(Frozen):
    """A check that somebody let pass, and why; `used` tells whether it would have counted."""

    id: str
    reason: str
    used: bool = False


class Gate(Document):
    """`answer` decides the exit status: go 0, no-go 1, could-not-tell 3, node-failed 4.

    `preset` is "" where nothing measured stands behind the answer. With `scope` local only `node`'s own part was
    judged, and only the ids of `hardware` could refuse. `counters` are error counters as they stood, by node and
    "subject source name", for the next gate to see what grew. Times in seconds.
    """

    kind: ClassVar[str] = "gate"

    id: str = ""
    preset: str
    profile: str = ""
    level: Level = "quick"
    scope: Literal["all", "local"] = "all"
    nodes: tuple[str, ...] = ()
    hardware: tuple[str, ...] = ()
    drift: Drift = "fail"
    answer: Answer
    reason: str
    checks: tuple[GateCheck, ...] = ()
    findings: tuple[Finding, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    counters: dict[str, dict[str, int]] = {}
    boots: dict[str, str] = {}
    seconds: float = 0.0
    deadline_s: float = 0.0
