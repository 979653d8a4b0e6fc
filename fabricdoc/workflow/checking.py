"""The gate's job: look at the nodes as they are now, judge them, go as deep as the level says, and keep the answer.

The quick level only looks. What deeper levels add stands in modules of their own, named in LEVELS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fabricdoc.errors import FabricdocError, UsageError
from fabricdoc.gate import floors_of, hardware_ids
from fabricdoc.model.fabric import Fabric, NodeReport
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Drift, Gate, GateCheck, Level
from fabricdoc.model.preset import Preset
from fabricdoc.transport import NodeSpec

if TYPE_CHECKING:
    from fabricdoc.workflow.delivering import Where

Progress = Callable[[str], None]
UNNAMED = "unnamed"
HISTORY = "history"
DEADLINES_S: Mapping[Level, float] = {"quick": 15.0, "smoke": 120.0, "full": 300.0}
"""Seconds for a whole gate; each far above what is usual, since a busy node is no broken one."""
LATER = ("fabric.cables", "fabric.own_ports", "checks.between", "gate.quick", "gate.judge", "store")
"""What is needed once the nodes have answered: loaded while they look."""
LEVELS: Mapping[Level, tuple[str, ...]] = {"quick": (), "smoke": ("gate_smoke",), "full": ("gate_full",)}
"""Level -> the modules of this room that it adds to the quick one, in order.

Each has `deepen(asked: Asked, fabric: Fabric, progress: Progress) -> Added`, and is asked only while the answer is go.
"""


@dataclass(frozen=True)
class Asked:
    """What a gate was asked. `preset` None: nothing measured stands behind it. `specs` () means the preset's nodes.

    `local` names the one node whose own part is asked, "" for all. `waived` are reasons by check id, `hardware` the ids
    that may refuse with `local`. `wheres` say where the server runs already; `env` are files of variables by node (""
    for all); `launch` are the words of the launch line, `ports` those the launcher uses. `folders` are the user's
    presets. `begun` is when the deadline began to run (monotonic seconds); `store` None is the usual place.
    """

    preset: Preset | None
    specs: tuple[NodeSpec, ...] = ()
    level: Level = "quick"
    profile: str = ""
    local: str = ""
    waived: Mapping[str, str] = field(default_factory=dict)
    drift: Drift = "fail"
    hardware: tuple[str, ...] = ()
    deadline_s: float = DEADLINES_S["quick"]
    wheres: tuple[Where, ...] = ()
    env: tuple[tuple[str, Path], ...] = ()
    launch: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    folders: tuple[Path, ...] = ()
    python: str = ""
    store: Path | None = None
    keep: bool = True
    begun: float = field(default_factory=time.monotonic)

    def left(self) -> float:
        """Seconds until the deadline of the whole gate, never below 0."""
        return max(0.0, self.begun + self.deadline_s - time.monotonic())

    @property
    def profile_name(self) -> str:
        """The profile that decides about floors."""
        return self.profile or (self.preset.profile if self.preset else "")


@dataclass(frozen=True)
class Added:
    """What a deeper level found: checks beside the quick ones, and their causes with what to do."""

    checks: tuple[GateCheck, ...] = ()
    findings: tuple[Finding, ...] = ()


def preset_asked(asked: Asked) -> Preset:
    """The preset; UsageError without one, since a deeper level holds launches against what was measured."""
    if asked.preset is None:
        raise UsageError(f"--level {asked.level} needs a preset", fix="--preset FILE, or leave --level out")
    return asked.preset


def check_level(level: str) -> Level:
    """The level; UsageError for a word that is none."""
    found = next((one for one in LEVELS if one == level), None)
    if found is None:
        raise UsageError(f"--level {level[:40]!r} is none", fix=f"levels: {', '.join(LEVELS)}")
    return found


def check_drift(word: str) -> Drift:
    """What a difference from what was measured does; UsageError for a word that is none."""
    found: Drift | None = next((one for one in get_args(Drift) if one == word), None)
    if found is None:
        raise UsageError(f"--drift {word[:40]!r} is none", fix="--drift report, or --drift fail")
    return found


def check_gate(asked: Asked, progress: Progress = lambda _: None) -> Gate:
    """Look, judge, go deeper while the answer is go, and keep the answer in the history (unless it can't be)."""
    from fabricdoc.workflow.gate_looking import look_quickly

    floors = floors_of(asked.profile_name, asked.folders)
    looked = look_quickly(asked, floors, lambda: _meanwhile(asked), progress)
    from fabricdoc.gate import Terms, conclude, judge_quick

    checks, findings = judge_quick(looked)
    read, failed = looked.fabric.nodes, looked.fabric.failed
    nodes = tuple(dict.fromkeys([*(node.name for node in read), *(node.name for node in failed)]))
    terms = Terms(
        preset=(asked.preset.name or UNNAMED) if asked.preset else "",
        profile=asked.profile_name,
        level=asked.level,
        waived=asked.waived,
        drift=asked.drift,
        local=bool(asked.local),
        hardware=asked.hardware or hardware_ids(),
        floors=floors,
    )
    gate = conclude(terms, nodes, checks, findings)
    for step in LEVELS[asked.level]:
        if gate.answer == "go":
            added = _deepened(step, asked, looked.fabric, progress)
            checks, findings = [*checks, *added.checks], [*findings, *added.findings]
            gate = conclude(terms, nodes, checks, findings)
    return _kept(asked, gate, looked.fabric)


def _deepened(step: str, asked: Asked, fabric: Fabric, progress: Progress) -> Added:
    found: Added = import_module(f"fabricdoc.workflow.{step}").deepen(asked, fabric, progress)
    return found


def _meanwhile(asked: Asked) -> Gate | None:
    """While the nodes look: load what judges, make the validator of their reports, and find the last gate."""
    for name in LATER:
        import_module(f"fabricdoc.{name}")
    NodeReport.model_rebuild()
    return _before(asked)


def _before(asked: Asked) -> Gate | None:
    """The last gate of these nodes; a store that can't be read is as none, since a gate needs no history."""
    from fabricdoc.store import last_gate

    names = [spec.name for spec in asked.specs] or [node.name for node in (asked.preset.nodes if asked.preset else ())]
    try:
        return last_gate([asked.local] if asked.local else names, asked.store)
    except FabricdocError:
        return None


def _kept(asked: Asked, gate: Gate, fabric: Fabric) -> Gate:
    """The gate with its id, time and counters, and in the history; where it can't be, it tells so and holds."""
    from fabricdoc.store import keep_gate, new_gate_id
    from fabricdoc.workflow.gate_looking import standing

    counters, boots = standing(fabric)
    took = {"seconds": round(time.monotonic() - asked.begun, 3), "deadline_s": asked.deadline_s}
    gate = gate.model_copy(update={"id": new_gate_id(), "counters": counters, "boots": boots, **took})
    if asked.keep:
        try:
            keep_gate(gate, asked.store)
        except FabricdocError as error:
            return gate.model_copy(update={"checks": (*gate.checks, _not_kept(error))})
    return gate


def _not_kept(error: FabricdocError) -> GateCheck:
    from fabricdoc.gate import kind_of

    kind, found = kind_of(HISTORY), f"not kept: {error.message}"[:200]
    fields = {"id": HISTORY, "node": "", "outcome": "noted", "expected": kind.asks, "found": found}
    return GateCheck.model_validate(fields | {"fix": kind.fix, "who": kind.who})
