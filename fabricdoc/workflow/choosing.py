"""The candidates of a plan: base, default, what the user runs today, the rails, and what his sets offer on this ground.

Says why each of the others is left out. What a candidate is made of is `bench`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.bench import (
    bare_default,
    base_candidate,
    current_candidate,
    engine_named,
    lacking,
    left_out,
    load_candidates,
    offered,
    parse_current,
    rail_candidates,
    refused,
    remarks,
    sets_of,
)
from fabricdoc.errors import InconclusiveError
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Candidate, NotOffered
from fabricdoc.workflow.current import read_on_nodes
from fabricdoc.workflow.field import Field
from fabricdoc.workflow.requests import Request

DEFAULT_SETS: Mapping[str, tuple[str, ...]] = {"gloo": (), "nccl": ("decode",)}


@dataclass(frozen=True)
class Chosen:
    """The candidates of a plan, those left out with the reason, and what the user should know of them."""

    candidates: tuple[Candidate, ...]
    not_offered: tuple[NotOffered, ...] = ()
    notes: tuple[str, ...] = ()


def choose(request: Request, field: Field, fabric: Fabric, profile: Profile) -> Chosen:
    """Base, default, current, the rails and the sets asked for: what can be tried here, and what can't and why."""
    engine = request.engine or profile.engine
    set_by_engine = engine_named(engine, request.presets) if engine else None
    single = request.weighs_rails or field.backend == "gloo"
    base = base_candidate(field.backend, field.rails, field.names, single=single, engine=set_by_engine)
    current = _current(request, field)
    fixed = (base, bare_default(), *current.candidates, *_rails(request, field, fabric))
    sets = request.sets or (() if request.weighs_rails else DEFAULT_SETS[field.backend])
    loaded = load_candidates(sets, backend=field.backend, extra_dirs=request.presets) if sets else ()
    kept, left = offered(loaded, field.ground)
    taken = {candidate.name for candidate in fixed}
    notes = (*current.notes, *_out_of_work(request, field, fabric), *_other_sets(request, field, sets))
    return Chosen(
        (*fixed, *(candidate for candidate in kept if candidate.name not in taken)),
        (*current.not_offered, *left),
        notes,
    )


def _current(request: Request, field: Field) -> Chosen:
    """The user's settings of today as a candidate, where he named them."""
    if request.current is None:
        return Chosen(())
    source = parse_current(request.current)
    values = read_on_nodes(source, request.specs)
    candidate = current_candidate(source, values)
    out = left_out(values)
    notes = [f"current: {', '.join(out)} is not taken over: the bench sets it itself"] if out else []
    notes += [f"current: {remark}" for remark in remarks(candidate, field.ground.nccl)]
    why_not = refused(candidate, field.names)
    if why_not is not None:
        return Chosen((), (why_not,), tuple(notes))
    return Chosen((candidate,), (), tuple(notes))


def _rails(request: Request, field: Field, fabric: Fabric) -> tuple[Candidate, ...]:
    """What weighs the rails; InconclusiveError where there are fewer than two, naming what other ports lack."""
    if not request.weighs_rails:
        return ()
    if len(field.rails) < 2:
        ports = lacking(fabric, field.rails)
        told = f": {'; '.join(ports[:8])}" if ports else ""
        raise InconclusiveError(
            f"--both-nics needs two rails that reach every node, and the cable map shows {len(field.rails)}{told}",
            fix="run `fabricdoc cables` to see what the second port lacks",
            id="one-rail",
        )
    return rail_candidates(field.backend, field.rails, field.names)


def _out_of_work(request: Request, field: Field, fabric: Fabric) -> tuple[str, ...]:
    """Ports that could have been a rail and are none, where rails are weighed."""
    if not request.weighs_rails:
        return ()
    return tuple(f"on no rail: {text}" for text in lacking(fabric, field.rails)[:8])


def _other_sets(request: Request, field: Field, sets: Sequence[str]) -> tuple[str, ...]:
    """Which sets could be asked for besides, where the user chose none."""
    if request.candidates or field.backend != "nccl":
        return ()
    fitting = []
    for name in sets_of(field.backend, request.presets):
        if name not in (*sets, "default"):
            kept, _ = offered(load_candidates([name], backend=field.backend, extra_dirs=request.presets), field.ground)
            fitting += [f"{name} ({len(kept)})"] if kept else []
    return (f"other sets for this fabric (--candidates): {', '.join(fitting)}",) if fitting else ()
