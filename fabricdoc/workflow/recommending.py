"""Judge a stored run again and build its preset; find the run or preset a command means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from fabricdoc.errors import StoreError, UsageError
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.preset import Preset
from fabricdoc.model.profile import StepTime
from fabricdoc.model.run import Objective, Run
from fabricdoc.model.verdict import Verdict
from fabricdoc.serving import load_profile
from fabricdoc.store import RunStore
from fabricdoc.tuning import build_preset
from fabricdoc.workflow.judging import Judge, check_weights, with_step
from fabricdoc.workflow.safety import refuse_unsafe

Stored = TypeVar("Stored", Fabric, Preset)


@dataclass(frozen=True)
class Recommended:
    """A verdict, and the preset where the measurements allow one (null while inconclusive); how the run ended."""

    verdict: Verdict
    preset: Preset | None
    ended: str = "complete"


def recommend(
    store: RunStore,
    run_id: str | None,
    *,
    profile: str | None = None,
    objective: Objective | None = None,
    presets: Sequence[Path] = (),
    step: StepTime | None = None,
    weights: Mapping[str, float] | None = None,
    valid_days: int | None = None,
    keep_base: bool = False,
) -> Recommended:
    """Judge stored measurements under a profile and objective (the run's own by default); stores both results.

    `step` is what the user knows of a decode step, beside what the profile says; `weights` are the run's own where no
    objective is named. With `keep_base` the preset is base's, whatever the verdict: what the cables prove, and nothing
    that was to pay. UsageError for weights beside another objective than mix, and to keep a base that never ran well.
    """
    run = store.load(run_id)
    aimed = objective or ("mix" if weights else run.plan.objective)
    check_weights(weights, aimed)
    own = (run.plan.weights or None) if objective is None else None
    named = profile or run.plan.profile
    known = with_step(load_profile(named, presets), step)
    verdict = Judge(known, aimed, named, weights or own).verdict(run)
    store.save_document(run.id, "verdict", verdict.model_dump_json())
    fabric_text = store.load_document(run.id, "fabric")
    preset = None
    if (verdict.conclusive or keep_base) and fabric_text is not None:
        of = _base_kept(run, verdict) if keep_base else verdict
        preset = build_preset(run, of, _stored(Fabric, fabric_text, run.id), valid_days=valid_days)
        refuse_unsafe(preset)
        store.save_document(run.id, "preset", preset.model_dump_json())
    return Recommended(verdict, preset, run.status)


def base_ran(run: Run) -> bool:
    """Whether a launch of base came to its end, so that base can be kept."""
    bases = {one.name for one in run.plan.candidates if one.role == "base"}
    return any(launch.candidate in bases and launch.status == "ok" for launch in run.launches)


def _base_kept(run: Run, verdict: Verdict) -> Verdict:
    """The verdict with base for its choice, since the user says so. UsageError where base never ran to its end."""
    if not base_ran(run):
        raise UsageError(
            f"base of run {run.id} never ran to its end: there is nothing to keep", fix=verdict.reason, id="no-base"
        )
    told = f"Base is kept because you said so, what makes this fabric work; the verdict was: {verdict.reason}"
    return verdict.model_copy(update={"choice": "base", "reason": told})


def kept_verdict(store: RunStore, run_id: str) -> Verdict | None:
    """The verdict kept with a run, None where there is none that this edition can read."""
    text = store.load_document(run_id, "verdict")
    try:
        return Verdict.model_validate_json(text) if text is not None else None
    except ValidationError:
        return None


def latest_preset(store: RunStore, wanted: str | None, progress: Callable[[str], None] = lambda _: None) -> Preset:
    """A stored preset by run id, or the latest there is; UsageError when there is none.

    Without `wanted`, runs that came to no preset (interrupted, inconclusive) are passed over, and that is told.
    """
    run = store.load(wanted)
    text = store.load_document(run.id, "preset")
    if text is None and wanted is None:
        text = _earlier_preset(store, run.id, progress)
    if text is None:
        raise _no_preset(run, store.words)
    return _stored(Preset, text, run.id)


def _no_preset(run: Run, store: str) -> UsageError:
    """What to do about a run without a preset: measure its rest, or more, or keep base."""
    base = f"or keep base, what the cables prove: fabricdoc recommend {run.id} --keep-base{store}"
    if run.status == "complete":
        message = f"run {run.id} has no preset: its verdict could not tell which set is best"
        return UsageError(message, fix=f"fabricdoc recommend {run.id}{store} says what would; {base}", id="no-preset")
    message = f"run {run.id} has no preset: it is {run.status}"
    return UsageError(
        message, fix=f"measure its rest: fabricdoc bench --resume {run.id}{store}; {base}", id="no-preset"
    )


def _earlier_preset(store: RunStore, newest: str, progress: Callable[[str], None]) -> str | None:
    for earlier in store.list_runs():
        text = store.load_document(earlier.id, "preset")
        if text is not None:
            progress(f"run {newest} came to no preset; taking that of run {earlier.id} ({earlier.created})")
            return text
    return None


def _stored(kind: type[Stored], text: str, run_id: str) -> Stored:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise StoreError(
            f"the {kind.__name__.lower()} of run {run_id} can't be read: {place}: {first['msg']}",
            fix="read it with the fabricdoc that wrote it, or measure again",
        ) from error
