"""The drop-one check: the winner is launched without each of its lines, and a line that does not pay is left out.

*Placed* lines (base's, and the ports a candidate names per node) are exempt: they are there because the fabric needs
them. What is left is confirmed against base like any winner. Only reads launches; the bench makes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.model.pruning import DROP_ONE
from fabricdoc.model.run import Candidate, Run
from fabricdoc.model.verdict import LineVerdict
from fabricdoc.tuning.aim import Aim
from fabricdoc.tuning.blocks import Block, blocks_of
from fabricdoc.tuning.comparing import BLOCKS_TO_CALL, Reading, compare_to
from fabricdoc.tuning.objective import due_phases
from fabricdoc.tuning.settled import failed, incorrect
from fabricdoc.tuning.weighing import Scales
from fabricdoc.tuning.wording import interval_text

TRIMMED = "{winner}-trimmed"
WITHOUT = "{winner}-without-{line}"


@dataclass(frozen=True)
class Checked:
    """A line's verdict, with what the winner becomes without it."""

    line: LineVerdict
    without: Candidate


def lines_of(winner: Candidate, base: Candidate) -> tuple[str, ...]:
    """The variables that have to pay for themselves: the winner's own, common to all nodes, unlike base's.

    Empty for fewer than two: without its only line the winner is base, against which it was confirmed. Ports that a
    candidate names per node are one choice, so beside them a single line is checked.
    """
    own = [name for name, value in winner.variables.items() if base.variables.get(name) != value]
    parts = len(own) + bool(any(winner.node_variables.values()))
    return tuple(own) if parts > 1 else ()


def without_each(winner: Candidate, base: Candidate) -> tuple[Candidate, ...]:
    """The winner without each line in turn."""
    return tuple(
        _less(winner, (line,), WITHOUT.format(winner=winner.name, line=line)) for line in lines_of(winner, base)
    )


def _less(winner: Candidate, lines: Sequence[str], name: str) -> Candidate:
    kept = {key: value for key, value in winner.variables.items() if key not in lines}
    return winner.model_copy(
        update={
            "name": name, "variables": kept, "set_name": DROP_ONE, "targets": ("none",),
            "why": f"{winner.name} without {' and '.join(lines)}",
        }
    )  # fmt: skip


def checked_lines(run: Run, aim: Aim, winner: Candidate, base: Candidate) -> tuple[Checked, ...]:
    """What the drop-one round says of every line of the winner; one that was not taken away is not checked."""
    blocks = blocks_of(run, ("drop",), base.name)
    scales = Scales.of(blocks, aim, base=base.name)
    due = due_phases(aim.objective, scales.recipes)
    made = without_each(winner, base)
    found = []
    for name, other in zip(lines_of(winner, base), made, strict=True):
        read = (compare_to(scales.stages[phase], other.name, winner.name, len(made) * len(due)) for phase in due)
        found.append(Checked(_line(run, name, other, [one for one in read if one is not None]), other))
    return tuple(found)


def _line(run: Run, name: str, other: Candidate, readings: Sequence[Reading]) -> LineVerdict:
    """Whether a line pays: some weighed stage is worse without it, or without it launches fail."""
    bad = _bad(run, other)
    if bad:
        return LineVerdict(name=name, pays=True, reason=f"without it {bad}")
    measured = min((reading.interval.blocks for reading in readings), default=0)
    if measured < BLOCKS_TO_CALL:
        reason = f"not checked alone: {measured} of {BLOCKS_TO_CALL} blocks were launched without it"
        return LineVerdict(name=name, pays=None, reason=reason)
    worst = min(readings, key=lambda reading: reading.interval.ratio)
    paying = [reading for reading in readings if reading.verdict == "worse"]
    shown = paying[0] if paying else worst
    reason = f"without it {interval_text(shown.interval)}"
    return LineVerdict(name=name, pays=bool(paying), reason=reason, without=shown.interval)


def _bad(run: Run, other: Candidate) -> str:
    own = [launch for launch in run.launches if launch.candidate == other.name]
    settled = failed(own) or incorrect(own)
    return "" if settled is None else settled.reason


def trimmed(winner: Candidate, checked: Sequence[Checked]) -> Candidate | None:
    """The winner without the lines that do not pay; None where all stay, or where nothing would be left of it."""
    gone = [one.line.name for one in checked if one.line.pays is False]
    left = _less(winner, gone, TRIMMED.format(winner=winner.name))
    if not gone or not (left.variables or any(left.node_variables.values())):
        return None
    return left


def is_made(candidate: Candidate) -> bool:
    """Whether it was made for the check."""
    return candidate.set_name == DROP_ONE


def split_blocks(run: Run, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Blocks of the confirmation: those of the winners, then those of the set that the check left."""
    made = {one.name for one in run.plan.candidates if is_made(one)}
    last = [block for block in blocks if made & set(block.others)]
    return tuple(block for block in blocks if not made & set(block.others)), tuple(last)


def kept_together(checked: Sequence[Checked]) -> Mapping[str, str]:
    """Why lines that do not pay alone stay all the same, by name."""
    return {
        one.line.name: "kept, since the set without it was not confirmed to be as good"
        for one in checked
        if one.line.pays is False
    }
