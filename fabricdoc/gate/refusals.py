"""Whether the preset may be asked about these nodes and this job at all: its time, its nodes, its profile.

Says what differs; facts of nodes are compared elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from fabricdoc.errors import InputError, UsageError
from fabricdoc.export import check_valid
from fabricdoc.gate.commands import bench_command, node_words
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import GateCheck, Outcome
from fabricdoc.model.preset import Preset


class Contrary(NamedTuple):
    """What a launch line says against a profile: what, as the profile has it, as the line has it.

    It refuses, unless the profile is of no one model: then no job could be as it was measured for.
    """

    what: str
    then: str
    now: str
    refuses: bool = True


@dataclass(frozen=True)
class Job:
    """What is known of the job that is to start: its profile's name, "" where nobody said; `asked` are the nodes.

    `contrary` is what its launch line says against the preset's profile.
    """

    asked: tuple[str, ...] = ()
    profile: str = ""
    contrary: tuple[Contrary, ...] = ()


def judge_refusals(preset: Preset, fabric: Fabric, job: Job, now: datetime) -> tuple[list[GateCheck], list[Finding]]:
    """preset-expired, preset-nodes and profile, with the finding of each that is a no."""
    found = [_expired(preset, now), *_nodes(preset, job.asked), *_profile(preset, fabric, job)]
    return [check for check, _ in found], [finding for _, finding in found if finding is not None]


def _expired(preset: Preset, now: datetime) -> tuple[GateCheck, Finding | None]:
    expected = f"before {preset.expires}" if preset.expires else "never"
    moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        check_valid(preset, now=now)
    except InputError:
        raise
    except UsageError:
        return GateCheck(id="preset-expired", node="", outcome="differs", expected=expected, found=moment), None
    return GateCheck(id="preset-expired", node="", outcome="ok", expected=expected, found=moment), None


def _nodes(preset: Preset, asked: Sequence[str]) -> Iterator[tuple[GateCheck, Finding | None]]:
    """Nodes that were named and that the preset does not have; missing ones are told by the fingerprint."""
    own = [node.name for node in preset.nodes]
    strange = [name for name in asked if name not in own]
    measured, named = ", ".join(own), ", ".join(asked) or "the preset's own"
    if not strange:
        yield _check("preset-nodes", "ok", measured, named), None
        return
    it = "is none of its nodes" if len(strange) == 1 else "are none of its nodes"
    cause = f"the preset is of {measured}, and was held against {named}: {', '.join(strange)} {it}"
    targets = ",".join(f"{name}=TARGET" for name in own)
    fix = (
        "leave --nodes out, or name the nodes as the preset does:",
        f"fabricdoc gate --nodes {targets}",
    )
    finding = Finding(id="gate-preset-foreign", severity="error", subject=preset.name, cause=cause, fix=fix)
    yield _check("preset-nodes", "differs", measured, named, fix), finding


def _profile(preset: Preset, fabric: Fabric, job: Job) -> Iterator[tuple[GateCheck, Finding | None]]:
    own = preset.profile or "none"
    differing = [(f"profile {own}", f"profile {job.profile}")] if job.profile not in ("", preset.profile) else []
    differing += [_words(one) for one in job.contrary if one.refuses]
    told = [_words(one) for one in job.contrary if not one.refuses]
    finding = _other_profile(preset, fabric, job, differing or told)
    for at, (then, now) in enumerate(differing):
        yield _check("profile", "differs", then, now, finding.fix), None if at else finding
    for then, now in told:
        yield _check("profile", "noted", then, now, finding.fix), None
    if not (differing or told):
        yield _check("profile", "ok", own, job.profile or own), None


def _words(one: Contrary) -> tuple[str, str]:
    return f"{one.what} {one.then}", f"{one.what} {one.now}"


def _other_profile(preset: Preset, fabric: Fabric, job: Job, differing: Sequence[tuple[str, str]]) -> Finding:
    named = preset.model_copy(update={"profile": job.profile or "NAME"})
    told = "; ".join(f"measured for {then}, the job has {now}" for then, now in differing)
    said = [one for one in job.contrary if one.refuses]
    return Finding(
        id="gate-profile-differs",
        severity="error",
        subject=preset.name,
        evidence=tuple(Evidence(file="launch line", text=f"{one.what} {one.now}") for one in said),
        cause=f"the job is not the one measured for: {told}",
        fix=("start it as measured, or measure this one:", bench_command(named, node_words(preset, fabric))),
    )


def _check(id: str, outcome: Outcome, expected: str, found: str, fix: tuple[str, ...] = ()) -> GateCheck:
    return GateCheck(id=id, node="", outcome=outcome, expected=expected, found=found, fix=fix)
