"""From a profile to what a bench has to time: the collectives that NCCL carries between nodes, by shape.

Pure arithmetic on profile documents.
"""

from __future__ import annotations

from typing import Literal

from fabricdoc.model.profile import Collective, Profile, Stage
from fabricdoc.model.run import Op, Shape

Key = tuple[Op, int, Literal["bfloat16", "float32"]]


def crosses_nodes(collective: Collective) -> bool:
    """Whether NCCL carries this collective between nodes: only then does an NCCL variable matter to it."""
    return collective.spans_nodes and collective.bypass == "none"


def timed_dtype(collective: Collective) -> Literal["bfloat16", "float32"]:
    """The dtype it is timed with: others are timed as one of the same bytes (time follows bytes, not elements)."""
    return "float32" if collective.dtype in ("float32", "int32") else "bfloat16"


def decode_stages(profile: Profile) -> tuple[Stage, ...]:
    """The decode step of every batch a verdict has to ask: the profile's own, then the captured ones, by rows.

    One stage for each number of rows; the profile's own stands for its rows.
    """
    by_rows: dict[int, Stage] = {stage.rows: stage for stage in (*profile.captured, profile.decode)}
    return tuple(by_rows[rows] for rows in sorted(by_rows))


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


def captured_shapes(profile: Profile) -> tuple[Shape, ...]:
    """What a bench times beside `shapes_for` so that every captured batch can be scored: their other sizes.

    Outside any phase (phase grid, count 0), since no one step sends them all.
    """
    known = {(shape.op, shape.size) for shape in shapes_for(profile)}
    found = {
        (one.op, one.size, timed_dtype(one))
        for stage in profile.captured
        for one in stage.collectives
        if crosses_nodes(one) and (one.op, one.size) not in known
    }
    return tuple(Shape(op=op, size=size, dtype=dtype) for op, size, dtype in sorted(found))
