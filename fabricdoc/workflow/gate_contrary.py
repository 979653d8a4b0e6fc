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
from fabricdoc.model.profile import Profile, Totals
from fabricdoc.serving import Found, config_of, derive_profile, find_launch, from_launch, load_profile, read_config

if TYPE_CHECKING:
    from fabricdoc.workflow.checking import Asked


def contrary_of(asked: Asked) -> tuple[tuple[str, str, str], ...]:
    """(what, the preset's profile has, the launch line has) where they can be held together and differ.

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
    return (*_plainly(profile, found), *_derived(profile, found))


def _plainly(profile: Profile, found: Found) -> Iterator[tuple[str, str, str]]:
    """What a launch line says by itself: engine, whether anything crosses nodes, tokens a step, prefill chunk."""
    served = found.served
    if profile.engine and profile.engine != served.engine:
        yield "engine", profile.engine, served.engine
    crosses = any(one.spans_nodes for one in (*profile.decode.collectives, *profile.prefill.collectives))
    if crosses != (served.ranks > served.gpus_per_node):
        yield "collectives between nodes:", "some" if crosses else "none", "none" if crosses else "some"
        return
    tokens = max(1, profile.decode.rows // max(1, profile.batch))
    if crosses and profile.decode.rows % max(1, profile.batch) == 0 and tokens != served.window:
        yield "rows a request in a decode step:", str(tokens), str(served.window)
    if crosses and served.chunk and served.chunk != profile.prefill.rows:
        yield "prefill chunk", str(profile.prefill.rows), str(served.chunk)


def _derived(profile: Profile, found: Found) -> Iterator[tuple[str, str, str]]:
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
        yield "a decode step", _totals_text(then), _totals_text(now)


def _totals_text(totals: Totals) -> str:
    gathered = f" and {totals.all_gather_bytes} gathered" if totals.all_gather_bytes else ""
    return f"of {totals.collectives} collectives, {totals.all_reduce_bytes} bytes reduced{gathered}"
