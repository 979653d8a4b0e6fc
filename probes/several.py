"""Several probes in one python, one after another: each is begun by its name and says when it has ended.

For the conversations that follow one another on a node while its cables are proven: a login and a start of python each
would take longer than what they do. The controller begins one only when the last has said that it has ended, so that no
message goes astray. Looks at nothing itself; ends with its input, or after minutes without a word.
"""

from __future__ import annotations

from collections.abc import Callable

from .wire import Wire

IDLE_LIMIT_S = 600.0
"""Longer than any of the others' conversations, which this node may have no part in."""


def scan(wire: Wire) -> int:
    """The scan probe; each module is loaded when its probe is begun."""
    from .scan import main as run

    return run(wire)


def beacon(wire: Wire) -> int:
    """The beacon probe."""
    from .beacon import main as run

    return run(wire)


def rdma_ping(wire: Wire) -> int:
    """The RDMA ping probe."""
    from .rdma_ping import main as run

    return run(wire)


def reach(wire: Wire) -> int:
    """The reach probe."""
    from .reach import main as run

    return run(wire)


PROBES: dict[str, Callable[[Wire], int]] = {"scan": scan, "beacon": beacon, "rdma_ping": rdma_ping, "reach": reach}


def main(wire: Wire) -> int:
    """Run the probes that are named, in the order in which they are; what else is said between them is passed over."""
    while (message := wire.read(IDLE_LIMIT_S)) is not None:
        name = message.get("probe")
        if message.get("do") == "begin" and isinstance(name, str) and name in PROBES:
            status = PROBES[name](wire)
            wire.write({"event": "ended", "probe": name, "status": status})
    return 0
