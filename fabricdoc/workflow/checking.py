"""The gate's job: look at the preset's nodes as they are now, judge them, and go as deep as the level says.

The quick level only looks. What deeper levels add stands in modules of their own, named in LEVELS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from importlib import import_module

from fabricdoc.errors import UsageError
from fabricdoc.gate import judge_gate
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.model.preset import Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.looking import look
from fabricdoc.workflow.meant import nodes_of

Progress = Callable[[str], None]
LEVELS: Mapping[str, tuple[str, ...]] = {"quick": (), "smoke": ("gate_smoke",), "full": ("gate_full",)}
"""Level -> the modules of this room that it adds to the quick one, in order.

Each has `deepen(asked: Asked, fabric: Fabric, progress: Progress) -> Added`.
"""


@dataclass(frozen=True)
class Asked:
    """What a gate was asked: the preset, the nodes with their targets, and the monotonic time it must end by."""

    preset: Preset
    specs: tuple[NodeSpec, ...]
    level: str = "quick"


@dataclass(frozen=True)
class Added:
    """What a deeper level found: checks beside the quick ones, and their causes with what to do."""

    checks: tuple[GateCheck, ...] = ()
    findings: tuple[Finding, ...] = ()


def check_level(level: str) -> None:
    """UsageError for a level that isn't."""
    if level not in LEVELS:
        raise UsageError(f"--level {level[:40]!r} is none", fix=f"levels: {', '.join(LEVELS)}")


def check_gate(
    preset: Preset, specs: Sequence[NodeSpec], progress: Progress, python: str = "", *, level: str = "quick"
) -> Gate:
    """Scan the nodes (the preset's own unless others are named), prove the links again, and compare.

    `python` replaces the python of every node.
    """
    check_level(level)
    asked = Asked(preset, _nodes(preset, specs, python), level)
    fabric = look(asked.specs, progress)
    gate = judge_gate(preset, fabric)
    for step in LEVELS[level] if gate is not None and gate.answer == "fit" else ():
        added: Added = import_module(f"fabricdoc.workflow.{step}").deepen(asked, fabric, progress)
        gate = _deeper(gate, added)
    return gate


def _deeper(gate: Gate, added: Added) -> Gate:
    return gate.model_copy(
        update={"checks": (*gate.checks, *added.checks), "findings": (*gate.findings, *added.findings)}
    )


def _nodes(preset: Preset, specs: Sequence[NodeSpec], python: str) -> tuple[NodeSpec, ...]:
    # by name, never as a pattern: a preset from elsewhere must not send beacons out of more ports than it names
    ports = {node.name: tuple(escape(port.netdev) for port in node.ports) for node in preset.fingerprint.nodes}
    nodes = [replace(spec, ports=spec.ports or ports.get(spec.name, ())) for spec in (specs or nodes_of(preset))]
    return tuple(replace(spec, python=python) if python else spec for spec in nodes)
