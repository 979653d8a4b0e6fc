"""A profile counted from a captured COLL log: which calls one decode step and one prefill chunk really make.

A graph-captured call is logged once, at capture, and an eager one each time, so a log of one captured batch holds whole
steps; how many is told, or is the largest number that divides every count. With the model's config the counts are
held against the rules, and the calls get the rules' names.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.profile import Collective, Group, Profile, Stage, StepTime
from fabricdoc.serving.coll_log import Calls, Shape
from fabricdoc.serving.reading import totals

PREFILL_FROM = 1 << 20
"""Bytes of an all-reduce from which on it is a prefill chunk's, unless told: 64 rows of a hidden width of 8192."""
AHEAD = 3
"""Calls in which the next large all-reduce must come for a small one to belong to a chunk (norms between layers)."""
MOST_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class Trace:
    """How to read a log: `steps` decode steps and `chunks` prefill chunks in it (0: by the common divisor)."""

    steps: int = 0
    chunks: int = 0
    prefill_from: int = PREFILL_FROM


def trace_profile(
    calls: Calls, how: Trace, *, name: str, where: str, derived: Profile | None = None, step: StepTime | None = None
) -> Profile:
    """The profile of that log. UsageError where `steps` does not divide the counts, InputError for no decode calls."""
    process, all_shapes = max(calls.of.items(), key=lambda item: len(item[1]))
    shapes = one_way(all_shapes)
    decode, prefill = split(shapes, how.prefill_from)
    if not decode:
        raise InputError(
            f"every all-reduce in {where} is of {how.prefill_from} bytes or more: no decode step is seen",
            fix="lower the bound with --prefill-from, or trace a server that decodes",
            id="no-decode",
        )
    steps = divisors(decode, how.steps, "--steps", derived.decode if derived else None)
    chunks = divisors(prefill, how.chunks, "--chunks", derived.prefill if derived else None)
    stages = [
        _stage(decode, steps, derived.decode if derived else None, calls),
        _stage(prefill, chunks, derived.prefill if derived else None, calls),
    ]
    notes = [*_notes(calls, process, all_shapes), *_taken_as(how, steps, chunks), *_against(derived, stages)]
    return Profile(
        name=name,
        summary=f"traced from {where}: {stages[0].totals.collectives} calls a decode step",
        source=f"Counted from {where}, process {process[1]} on {process[0]}, {len(all_shapes)} calls.",
        engine=derived.engine if derived else "",
        batch=derived.batch if derived else 1,
        decode=stages[0],
        prefill=stages[1],
        step=step,
        notes=tuple(notes),
    )


def one_way(shapes: Sequence[Shape]) -> list[Shape]:
    """Without the receiving ends where this process also sends: a boundary is one call of each neighbour."""
    sends = any(shape.op == "send_recv" and not shape.received for shape in shapes)
    return [shape for shape in shapes if not (sends and shape.received)]


def split(shapes: Sequence[Shape], prefill_from: int) -> tuple[Counter[Shape], Counter[Shape]]:
    """Decode's and prefill's calls of one process: by the size of its all-reduces, others with the one before them."""
    decode: Counter[Shape] = Counter()
    prefill: Counter[Shape] = Counter()
    large = [shape.op == "all_reduce" and shape.size >= prefill_from for shape in shapes]
    inside = False
    for place, shape in enumerate(shapes):
        if shape.op == "all_reduce":
            inside = large[place] or (inside and any(large[place + 1 : place + 1 + AHEAD]))
        (prefill if inside else decode)[shape] += 1
    return decode, prefill


def divisors(counts: Counter[Shape], told: int, option: str, rule: Stage | None) -> dict[Shape, int]:
    """How often each shape's step is in the log: as told, else as the rules' counts divide them, else all alike.

    Graph and eager calls may be there differently often (a warm-up and a capture, then eager calls each step), so with
    rules each of the two has its own number, where one number fits all its shapes.
    """
    if told:
        wrong = next((shape for shape, count in counts.items() if count % told), None)
        if not 0 < told <= MOST_STEPS or wrong is not None:
            what = f"{counts[wrong]} calls of {wrong.op} with {wrong.size} bytes" if wrong else "the calls"
            raise UsageError(f"{option} {told} does not divide {what}", fix=f"leave {option} out to see the counts")
        return dict.fromkeys(counts, told)
    common = math.gcd(*counts.values())
    return (_by_rule(counts, rule) if rule else None) or dict.fromkeys(counts, common)


def _by_rule(counts: Counter[Shape], rule: Stage) -> dict[Shape, int] | None:
    """A number of times for graph calls and one for eager ones; None where the counts are not the rules' so often."""
    wanted: Counter[tuple[str, int]] = Counter()
    graphed: dict[tuple[str, int], bool] = {}
    for one in rule.collectives:
        wanted[one.op, one.size] += one.count
        graphed[one.op, one.size] = one.in_graph
    times: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    found: dict[Shape, int] = {}
    for shape, count in counts.items():
        key = (shape.op, shape.size)
        if not wanted[key]:
            return None
        times[graphed[key]].add(divmod(count, wanted[key]))
        found[shape] = count // wanted[key]
    whole = all(len(some) <= 1 and all(left == 0 for _, left in some) for some in times.values())
    return found if whole and len(wanted) == len(counts) else None


def _taken_as(how: Trace, steps: dict[Shape, int], chunks: dict[Shape, int]) -> list[str]:
    """What the counts were divided by where nobody said."""
    said = []
    for told, numbers, what, option in (
        (how.steps, steps, "step", "--steps"),
        (how.chunks, chunks, "chunk", "--chunks"),
    ):
        found = sorted(set(numbers.values()))
        if not told and found:
            each = " and ".join(map(str, found))
            why = "graph and eager calls differ" if len(found) > 1 else "the largest number that divides every count"
            said.append(f"each {what} is taken to be in the log {each} times ({why}): say {option} to fix it")
    return said


def _stage(counts: Counter[Shape], times: dict[Shape, int], derived: Stage | None, calls: Calls) -> Stage:
    """Rows are the derived stage's where its largest message is the log's, else 0: a log does not tell them."""
    ranks = max(counts, key=lambda shape: counts[shape]).ranks if counts else 0
    names = _names(derived)
    listed = tuple(
        Collective(
            role=names.get((shape.op, shape.size)) or f"{shape.op} of {shape.size} bytes",
            op=shape.op,
            count=count // times[shape],
            size=shape.size,
            send_bytes=shape.send_bytes,
            dtype=shape.dtype,
            in_graph=True,
            group=_group(shape, ranks),
            spans_nodes=len(calls.hosts) > 1 if shape.spans_nodes is None and len(calls.of) > 1
            else shape.spans_nodes is not False,
            confidence="traced",
        )
        for shape, count in counts.items()
    )  # fmt: skip
    listed = tuple(_as_derived(one, derived) for one in listed)
    known = derived is not None and any(one.role != f"{one.op} of {one.size} bytes" for one in listed)
    return Stage(rows=derived.rows if derived and known else 0, collectives=listed, totals=totals(listed))


def _names(derived: Stage | None) -> dict[tuple[str, int], str]:
    roles: dict[tuple[str, int], list[str]] = {}
    for one in derived.collectives if derived else ():
        roles.setdefault((one.op, one.size), []).append(one.role)
    return {key: "; ".join(some) for key, some in roles.items()}


def _as_derived(one: Collective, derived: Stage | None) -> Collective:
    """What a log can't show (graph or eager) from the rule of the same shape."""
    like = [rule for rule in (derived.collectives if derived else ()) if (rule.op, rule.size) == (one.op, one.size)]
    return one.model_copy(update={"in_graph": like[0].in_graph, "group": like[0].group}) if like else one


def _group(shape: Shape, ranks: int) -> Group:
    if shape.op == "send_recv":
        return "pp"
    return "tp" if shape.ranks == ranks else "dp"


def _notes(calls: Calls, process: tuple[str, str], shapes: list[Shape]) -> list[str]:
    notes = []
    odd = [f"{host}:{pid}" for (host, pid), other in calls.of.items() if len(other) != len(shapes)]
    if odd:
        notes.append(f"{len(odd)} processes made another number of calls than {process[0]}:{process[1]}: {odd[0]}")
    if len(calls.of) == 1:
        notes.append("one process's log: that its groups span nodes is taken for granted where INIT lines don't say")
    if calls.other_ops:
        notes.append(f"{calls.other_ops} calls of ops or types that a profile does not hold are left out")
    if calls.cut:
        notes.append("the log is longer than what is read; its end is left out")
    return notes


def _against(derived: Profile | None, stages: Sequence[Stage]) -> list[str]:
    if derived is None:
        return ["without the model's config a log does not tell rows, nor which calls are in a graph: name --config"]
    found = []
    for title, rule, stage in zip(("decode", "prefill"), (derived.decode, derived.prefill), stages, strict=True):
        if stage.collectives:
            found += [f"{title}: {one}" for one in differences(rule, stage)] or [f"{title}: as the rules derive it"]
    return found


def differences(rule: Stage, traced: Stage) -> list[str]:
    """Each shape that the two count differently, in words."""
    counts: list[Counter[tuple[str, int]]] = [Counter(), Counter()]
    for stage, counter in zip((rule, traced), counts, strict=True):
        for one in stage.collectives:
            counter[one.op, one.size] += one.count
    keys = sorted(set(counts[0]) | set(counts[1]))
    return [
        f"{op} of {size} bytes: {counts[1][op, size]} traced, {counts[0][op, size]} derived"
        for op, size in keys
        if counts[0][op, size] != counts[1][op, size]
    ]
