"""Two runs held against each other, cell by cell: the statistics of a verdict, without blocks that both share.

What the two runs have in common is a candidate's name (base unless another is asked for); its launches of one run are
one side, those of the other run the other. They were never in one block, so the interval is Welch's on block means,
corrected for the number of cells, and everything else that changed between the two runs is in the ratio too: the
document says so. Runs that were imported (nccl-tests) are compared the same way. Decides nothing beyond the cells.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from fabricdoc.bench.statistics import aa_floor, unpaired_interval
from fabricdoc.errors import InconclusiveError, InputError
from fabricdoc.model.comparison import CellComparison, RunComparison
from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Run
from fabricdoc.tuning.blocks import CellKey, log_times
from fabricdoc.tuning.comparing import called

LEAST_BLOCKS = 2
UNPAIRED = (
    "The blocks are of different runs, so nothing is paired: whatever else changed between them (load, clocks, hours)"
    " is in every ratio. For one setting against another on the same nodes, launch both in one bench."
)


def compare_runs(first: Run, second: Run, *, candidate: str = "base") -> RunComparison:
    """Every cell that both runs have of that candidate; ratios are first / second (above 1: the second run is faster).

    Raises InputError where a run has no such candidate, InconclusiveError where they share no measured cell.
    """
    sides = [_by_block(run, candidate) for run in (first, second)]
    shared = [key for key in sorted(sides[0]) if key in sides[1]]
    if not shared:
        raise InconclusiveError(
            f"runs {first.id} and {second.id} have no cell of {candidate} in common",
            fix="measure the same ops, sizes and views in both: see fabricdoc runs show",
            id="nothing-in-common",
        )
    cells = [_cell(key, sides[0][key], sides[1][key], len(shared)) for key in shared]
    return RunComparison(
        first=first.id,
        second=second.id,
        candidate=candidate,
        paired=False,
        note=UNPAIRED,
        differences=_differences(first, second),
        only_first=len(sides[0].keys() - sides[1].keys()),
        only_second=len(sides[1].keys() - sides[0].keys()),
        cells=tuple(cells),
    )


def _by_block(run: Run, candidate: str) -> Mapping[CellKey, list[list[float]]]:
    """Per cell the logarithms of µs of every undisturbed block, its launches together."""
    if candidate not in {one.name for one in run.plan.candidates}:
        names = ", ".join(one.name for one in run.plan.candidates)
        raise InputError(f"run {run.id} has no candidate {candidate!r}", fix=f"it has: {names}")
    disturbed = {(one.round, one.block) for one in run.launches if one.disturbed}
    found: dict[CellKey, dict[tuple[str, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    for launch in run.launches:
        place = (launch.round, launch.block)
        if (
            launch.candidate == candidate
            and launch.status == "ok"
            and launch.round != "proof"
            and place not in disturbed
        ):
            for key, value in log_times(launch).items():
                found[key][place].append(value)
    return {key: list(blocks.values()) for key, blocks in found.items()}


def _cell(
    key: CellKey, first: Sequence[Sequence[float]], second: Sequence[Sequence[float]], cells: int
) -> CellComparison:
    means = [[fmean(block) for block in side] for side in (first, second)]
    interval = unpaired_interval(*means, comparisons=cells)
    pairs = [[block[0] - block[1] for block in side if len(block) == 2] for side in (first, second)]
    floor = max(aa_floor(side) for side in pairs)
    return CellComparison(
        **key._asdict(),
        first_us=math.exp(median(means[0])),
        second_us=math.exp(median(means[1])),
        first_blocks=len(first),
        second_blocks=len(second),
        interval=interval,
        floor=floor,
        verdict=called(interval, floor),
    )


def _differences(first: Run, second: Run) -> tuple[str, ...]:
    """What the runs themselves say differs between them, a clause each."""
    found = []
    if first.plan.backend != second.plan.backend:
        found.append(f"backend {first.plan.backend} and {second.plan.backend}")
    nodes = [{node.name: node for node in run.nodes} for run in (first, second)]
    if nodes[0].keys() != nodes[1].keys():
        found.append(f"nodes {', '.join(nodes[0])} and {', '.join(nodes[1])}")
    for name in sorted(nodes[0].keys() & nodes[1].keys()):
        for field in ("kernel", "torch", "nccl", "nvidia_driver", "gpus"):
            old, new = getattr(nodes[0][name], field), getattr(nodes[1][name], field)
            if old != new and not isinstance(old, Unknown) and not isinstance(new, Unknown):
                found.append(f"{field} of {name}: {old} and {new}")
    return tuple(found)
