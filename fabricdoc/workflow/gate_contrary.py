"""What the launch line says against the profile that the preset was measured for.

Engine, nodes, rows and prefill chunk as the line has them, and where the model's config.json can be found here, the
collectives of a decode step. Reads files here, looks at no node, and decides nothing: see `gate.refusals`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from fabricdoc.errors import FabricdocError, UsageError
from fabricdoc.gate import Contrary
from fabricdoc.model.profile import Profile, Totals
from fabricdoc.serving import Found, config_of, derive_profile, find_launch, from_launch, load_profile, read_config

if TYPE_CHECKING:
    from fabricdoc.workflow.checking import Asked


def contrary_of(asked: Asked) -> tuple[Contrary, ...]:
    """What the profile and the launch line say differently, where they can be held together.

    Where the model's config.json can be found here, the whole profile is derived and its collectives are compared.
    UsageError for a launch line with options that can't be read.
    """
    if asked.preset is None or not asked.launch:
        return ()
    launch = find_launch(asked.launch)
    if launch is None:
        return ()
    try:
        profile = load_profile(asked.preset.profile, asked.folders)
    except UsageError:
        return ()
    found = from_launch(launch, {})
    return (*_placed(profile, found), *_counted(profile, found))


def _placed(profile: Profile, found: Found) -> Iterator[Contrary]:
    """Which engine serves, and whether anything crosses nodes."""
    if profile.engine and profile.engine != found.served.engine:
        yield Contrary("engine", profile.engine, found.served.engine)
    if _crosses(profile) != _spans(found):
        words = ("some", "none") if _crosses(profile) else ("none", "some")
        yield Contrary("collectives between nodes:", *words)


def _crosses(profile: Profile) -> bool:
    return any(one.spans_nodes for one in (*profile.decode.collectives, *profile.prefill.collectives))


def _spans(found: Found) -> bool:
    return found.served.ranks > found.served.gpus_per_node


def _counted(profile: Profile, found: Found) -> Iterator[Contrary]:
    """Rows, chunk and what a step sends. A profile of assumed counts is of no one model: told, and refuses nothing."""
    if _crosses(profile) != _spans(found):
        return
    counts = profile.decode.collectives
    refuses = not (counts and all(one.confidence == "assumed" for one in counts))
    for what, then, now in _rows(profile, found) if _spans(found) else ():
        yield Contrary(what, then, now, refuses)
    for then, now in _derived(profile, found):
        yield Contrary("a decode step", then, now, refuses)


def _rows(profile: Profile, found: Found) -> Iterator[tuple[str, str, str]]:
    """Tokens a request has in a step, and the prefill chunk."""
    served, batch = found.served, max(1, profile.batch)
    tokens = max(1, profile.decode.rows // batch)
    if profile.decode.rows % batch == 0 and tokens != served.window:
        yield "rows a request in a decode step:", str(tokens), str(served.window)
    if served.chunk and served.chunk != profile.prefill.rows:
        yield "prefill chunk", str(profile.prefill.rows), str(served.chunk)


def _derived(profile: Profile, found: Found) -> Iterator[tuple[str, str]]:
    """The collectives of a decode step of the profile's batch, where the model is known here.

    A traced profile counts what was sent, which the rules of deriving need not meet to the byte.
    """
    if not found.model or any(one.confidence == "traced" for one in profile.decode.collectives):
        return
    served = replace(found.served, batch=max(1, profile.batch))
    try:
        mine = derive_profile(read_config(config_of(found.model, os.environ)), served, name="launch")
    except FabricdocError:
        return
    then, now = profile.decode.totals, mine.decode.totals
    if then != now:
        yield _totals_text(then), _totals_text(now)


def _totals_text(totals: Totals) -> str:
    gathered = f" and {totals.all_gather_bytes} gathered" if totals.all_gather_bytes else ""
    return f"of {totals.collectives} collectives, {totals.all_reduce_bytes} bytes reduced{gathered}"
