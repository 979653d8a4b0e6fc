"""Ports that were found taken, looked at again before they refuse a launch: another gate's probe holds them a moment.

Two jobs that start at once are gated at once, and each gate listens on the launcher's ports to see whether they can be
reached. Such a port is free a moment later; a server's is not. Looks, and judges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

TAKEN = "rendezvous-port-taken"
LOOKS = 3
PAUSE_S = 0.3
"""A probe listens for some 20 ms (measured between two lab nodes), on a busy machine ten times as long."""


def still_taken(fabric: Fabric, again: Callable[[Fabric], Fabric], left: Callable[[], float]) -> Fabric:
    """The fabric without findings of ports that are free by now.

    `again` looks at the ports once more and adds what it finds; `left` gives the seconds there are for it. A port that
    the same process holds in two looks is taken; where no process is shown three looks decide.
    """
    for _ in range(LOOKS - 1):
        before = _taken(fabric)
        if not before or left() <= PAUSE_S:
            return fabric
        time.sleep(PAUSE_S)
        now = _taken(again(fabric.model_copy(update={"findings": ()})))
        kept = [now.get(one.subject) if one.id == TAKEN else one for one in fabric.findings]
        fabric = fabric.model_copy(update={"findings": tuple(one for one in kept if one is not None)})
        if all(_holder(one) and _holder(one) == _holder(before[subject]) for subject, one in _taken(fabric).items()):
            return fabric
    return fabric


def _taken(fabric: Fabric) -> dict[str, Finding]:
    return {one.subject: one for one in fabric.findings if one.id == TAKEN}


def _holder(finding: Finding) -> str:
    """Which process holds the port, "" where none is shown."""
    text = finding.evidence[0].text if finding.evidence else ""
    return text if "(pid " in text else ""
