"""From a profile to what a bench has to time: the collectives that NCCL carries between nodes, by shape.

Pure arithmetic on profile documents.
"""

from __future__ import annotations

from typing import Literal

from fabricdoc.model.profile import Collective, Profile
from fabricdoc.model.run import Op, Shape

Key = tuple[Op, int, Literal["bfloat16", "float32"]]


def crosses_nodes(collective: Collective) -> bool:
    """Whether NCCL carries this collective between nodes: only then does an NCCL variable matter to it."""
    return collective.spans_nodes and collective.bypass == "none"


def timed_dtype(collective: Collective) -> Literal["bfloat16", "float32"]:
    """The dtype it is timed with: int8 is timed as bfloat16 of the same bytes (time follows bytes, not elements)."""
    return "float32" if collective.dtype == "float32" else "bfloat16"


def shapes_for(profile: Profile) -> tuple[Shape, ...]:
    """The shapes a bench of this profile times, decode first, each by size in bytes.

    One Shape per (op, size, dtype, phase), `count` being the calls per step or chunk. A size that both phases send
    comes once per phase: time it once.
    """
    shapes = []
    phases: tuple[Literal["decode", "prefill"], ...] = ("decode", "prefill")
    for phase in phases:
        counts: dict[Key, int] = {}
        for collective in getattr(profile, phase).collectives:
            if crosses_nodes(collective):
                key: Key = (collective.op, collective.size, timed_dtype(collective))
                counts[key] = counts.get(key, 0) + collective.count
        shapes += [
            Shape(op=op, size=size, dtype=dtype, phase=phase, count=count)
            for (op, size, dtype), count in sorted(counts.items())
        ]
    return tuple(shapes)
