"""One module for each family of causes: small pure functions from a case to an answer; `all_rules` is all of them.

Their words (cause, fix, what to collect, source) are data: presets/causes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from fabricdoc.explain.hits import Rule


@cache
def all_rules() -> Mapping[str, Rule]:
    """Id of a cause -> its rule."""
    from fabricdoc.explain.rules import (
        bootstrap,
        gid,
        gpu,
        link,
        lists,
        memory,
        platform,
        ranks,
        selection,
        settings,
        stack,
        transport,
    )

    rooms = (gpu, stack, settings, ranks, bootstrap, gid, selection, lists, memory, platform, link, transport)
    return {id: rule for room in rooms for id, rule in room.RULES.items()}
