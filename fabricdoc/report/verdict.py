"""A verdict for people: the choice first, then every candidate, then the sizes that decide, then how sure it is.

Ratios are base time / candidate time: above 1 is faster. Nothing is computed that the verdict doesn't hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.errors import ExitStatus
from fabricdoc.model.reasons import without_sources
from fabricdoc.model.verdict import CandidateVerdict, CellVerdict, Interval, Verdict
from fabricdoc.report.cells import (
    BAD,
    BOLD,
    DIM,
    GOOD,
    WARN,
    Column,
    Command,
    Name,
    Words,
    indent,
    labelled,
    line,
    table,
)
from fabricdoc.report.text import counted, effect_text, micros_text, ratio_text, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {
    "better": GOOD,
    "worse": BAD,
    "same": "",
    "failed": BAD,
    "incorrect": BAD,
    "ineffective": WARN,
    "inconclusive": WARN,
}
UNCOMPARED = ("failed", "incorrect", "ineffective", "inconclusive")
PHASES = ("decode", "prefill", "grid")
CALL = ": fabricdoc "
MOST_CELLS = 12
WIDE_OPEN = 100.0


def render_verdict(verdict: Verdict) -> list[RenderableType]:
    """The whole verdict."""
    return [
        _choice(verdict),
        *([indent(line(verdict.ceiling))] if verdict.ceiling else []),
        *(indent(line(text)) for text in verdict.trade),
        *(part for text in verdict.advice for part in _advice(text)),
        line(),
        _candidates(verdict),
        *_reasons(verdict),
        *_lines(verdict),
        *_cells(verdict),
        line(),
        *_certainty(verdict),
    ]


def verdict_status(verdict: Verdict) -> ExitStatus:
    """0 when the verdict is conclusive (keeping base included), else 3."""
    return ExitStatus.FIT if verdict.conclusive else ExitStatus.INCONCLUSIVE


def interval_text(interval: Interval | None) -> str:
    """`1.08 [1.05, 1.11]`; `1.08 [wide open]` where the ends are so far apart that they say nothing; `-` for none."""
    if interval is None:
        return "-"
    if interval.high > interval.low * WIDE_OPEN:
        return f"{ratio_text(interval.ratio)} [wide open]"
    return f"{ratio_text(interval.ratio)} [{ratio_text(interval.low)}, {ratio_text(interval.high)}]"


def _choice(verdict: Verdict) -> RenderableType:
    """The verdict's own sentence, which says to use or to keep what, or what is missing."""
    return labelled("verdict", (verdict.reason, GOOD if verdict.conclusive else WARN))


def _advice(text: str) -> list[RenderableType]:
    """A sentence of advice; a command at its end stands below it, ready to paste."""
    said, found, call = text.partition(CALL)
    if not found:
        return [indent(line((text, WARN)))]
    return [indent(line((f"{said}:", WARN))), indent(Command(f"fabricdoc {call}"), 4)]


def _candidates(verdict: Verdict) -> RenderableType:
    """A row per candidate; confirmation and proof have columns only where there is any."""
    confirming = any(one.confirmed is not None for one in verdict.candidates)
    proven = any(one.proof != "none" for one in verdict.candidates)
    columns = [
        Column("candidate", flex=True),
        Column("verdict"),
        *([Column("confirmed")] if confirming else []),
        Column(f"{verdict.objective} score"),
        Column("worst cell", drop=1),
        *([Column("proof of path", drop=2)] if proven else []),
    ]
    return table(columns, [_candidate_row(one, verdict.choice, confirming, proven) for one in verdict.candidates])


def _candidate_row(one: CandidateVerdict, choice: str, confirming: bool, proven: bool) -> list[Words | RenderableType]:
    worst = min(one.cells, key=lambda cell: cell.interval.ratio, default=None)
    confirmed = {True: ("yes", GOOD), False: ("no", BAD), None: ("-", DIM)}[one.confirmed]
    return [
        Name(one.name, BOLD if one.name == choice else ""),
        (one.verdict, STYLES[one.verdict]),
        *([confirmed] if confirming else []),
        interval_text(one.score),
        _worst_text(worst) if worst else "-",
        *([one.proof] if proven else []),
    ]


def _reasons(verdict: Verdict) -> list[RenderableType]:
    """Why candidates could not be compared; those with the same reason under one line."""
    groups: dict[str, list[str]] = {}
    for one in verdict.candidates:
        if one.verdict in UNCOMPARED and one.reason:
            groups.setdefault(without_sources(one.reason), []).append(one.name)
    told = [indent(line((f"{', '.join(names)}: ", BOLD), reason)) for reason, names in groups.items()]
    return [line(), *told] if told else []


def _lines(verdict: Verdict) -> list[RenderableType]:
    """What the drop-one check says of every measured line of the winner."""
    words = {True: ("pays", GOOD), False: ("does not pay", WARN), None: ("not checked", DIM)}
    told = [indent(line((f"{one.name} ", BOLD), words[one.pays], f": {one.reason}")) for one in verdict.lines]
    return [line(), *told] if told else []


def _worst_text(cell: CellVerdict) -> str:
    return f"{ratio_text(cell.interval.ratio)} {cell.op} {size_text(cell.size)}"


def _cells(verdict: Verdict) -> list[RenderableType]:
    """The sizes of the chosen candidate (or, where base is kept, of the one that came nearest) against base."""
    shown = _shown_candidate(verdict)
    if shown is None:
        return []
    ranked = sorted(shown.cells, key=lambda cell: (_phase(cell), cell.op, cell.size, cell.view))
    left = len(ranked) - MOST_CELLS
    more = [indent(line((f"and {counted(left, 'more cell')} (--json shows all)", DIM)))] if left > 0 else []
    head = line((f"{shown.name} against base", BOLD), (", ratio above 1 is faster", DIM))
    return [line(), head, _cell_table(ranked[:MOST_CELLS]), *more]


def _cell_table(cells: Sequence[CellVerdict]) -> RenderableType:
    """One table, so that columns line up; each phase is named once, above its first row."""
    columns = [
        Column("op"),
        Column("size", right=True),
        Column("view"),
        Column("base µs", right=True, drop=2),
        Column("ratio"),
        Column("", drop=1),
    ]
    rows: list[list[Words | RenderableType]] = []
    for number, cell in enumerate(cells):
        if number == 0 or cells[number - 1].phase != cell.phase:
            rows.append([(cell.phase, DIM), "", "", "", "", ""])
        rows.append(_cell_row(cell))
    return table(columns, rows)


def _phase(cell: CellVerdict) -> int:
    return PHASES.index(cell.phase) if cell.phase in PHASES else len(PHASES)


def _cell_row(cell: CellVerdict) -> list[Words | RenderableType]:
    return [
        f"  {cell.op}",
        size_text(cell.size),
        cell.view,
        micros_text(cell.base_us),
        interval_text(cell.interval),
        (cell.verdict, STYLES[cell.verdict]),
    ]


def _shown_candidate(verdict: Verdict) -> CandidateVerdict | None:
    chosen = [one for one in verdict.candidates if one.name == verdict.choice and one.cells]
    scored = [one for one in verdict.candidates if one.score is not None and one.cells]
    nearest = max(scored, key=lambda one: one.score.ratio if one.score else 0.0, default=None)
    return chosen[0] if chosen and verdict.choice != "base" else nearest


def _main_stage(verdict: Verdict) -> str:
    """The stage whose noise the figures of a run are of: decode, unless prefill alone is the objective."""
    return {"mix": " per decode step", "prefill": " per prefill chunk"}.get(verdict.objective, "")


def _shown_effect(verdict: Verdict) -> str:
    """What would have shown; for a winner of a quieter stage, in that one too."""
    whole = f"the smallest effect this run can show is {effect_text(verdict.smallest_effect)}"
    chosen = next((one for one in verdict.candidates if one.name == verdict.choice), None)
    own = None if chosen is None else chosen.smallest_effect
    return (
        whole if own is None or own >= verdict.smallest_effect else f"{whole}, for {verdict.choice} {effect_text(own)}"
    )


def _certainty(verdict: Verdict) -> list[RenderableType]:
    blocks = counted(verdict.blocks, "paired block")
    if not 0 < verdict.smallest_effect < 10:
        sure = f"{blocks}; too few to say how small an effect would have shown"
    else:
        sure = (
            f"{blocks}; {_shown_effect(verdict)}; base differs from itself by up to {effect_text(verdict.floor)}"
            f"{_main_stage(verdict)}"
        )
    judged = f"profile {verdict.profile}, objective {verdict.objective}, {verdict.backend}, run {verdict.run}"
    return [labelled("certainty", sure), labelled("judged for", judged)]
