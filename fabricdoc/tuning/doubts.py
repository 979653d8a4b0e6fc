"""What keeps a run from being trusted: noise that hides effects, a drift of the nodes, blocks that were disturbed.

Says it in sentences with what to do; limits are data (presets/measuring/noise.toml). Judges no candidate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fabricdoc.bench.statistics import blocks_needed, trend_of
from fabricdoc.files import own_folder, parse_toml
from fabricdoc.model.verdict import Drift, Quarantined
from fabricdoc.tuning.comparing import Reading, Series
from fabricdoc.tuning.wording import counted, effect_text, gain_text, percent_text


@lru_cache(maxsize=1)
def limits() -> Mapping[str, Mapping[str, Any]]:
    """presets/measuring/noise.toml."""
    return parse_toml(own_folder("presets").joinpath("measuring/noise.toml").read_text(encoding="utf-8"))


def too_noisy(reading: Reading) -> bool:
    """Whether not even a large effect would have been called."""
    return bool(reading.smallest_effect >= limits()["effect"]["too_noisy"])


def needed(reading: Reading, series: Series, comparisons: int) -> int | None:
    """The blocks that would do to call the effect worth calling; None where 999 would not, or one block is all."""
    if not math.isfinite(reading.spread):
        return None
    return blocks_needed(reading.spread, series.spread, limits()["effect"]["worth"], comparisons=comparisons)


def needed_text(blocks: int | None) -> str:
    """What more blocks would do, as a clause."""
    worth = percent_text(limits()["effect"]["worth"])
    return (
        f"about {blocks} blocks would show {worth}"
        if blocks
        else f"no number of blocks would show {worth} on nodes like these"
    )


def noise_text(reading: Reading, blocks: int | None) -> str:
    """Why a candidate can't be told from base, with the smallest visible effect and the blocks that would do."""
    seen = effect_text(reading.smallest_effect)
    return f"too noisy: less than {seen} can't be told from noise in {reading.interval.blocks} blocks, and " + (
        needed_text(blocks)
    )


def drift_of(series: Series) -> Drift | None:
    """How base moved over the blocks of a round; None where too few have it."""
    values = series.base_by_block()
    if len(values) < 4:
        return None
    trend = trend_of(values)
    return Drift(ratio=math.exp(min(max(trend.change, -13.0), 13.0)), chance=trend.chance)


def drifted(drift: Drift | None, limit: str) -> bool:
    """Whether the drift is beyond chance and beyond that limit ("told" or "limit")."""
    if drift is None or drift.chance > limits()["drift"]["chance"]:
        return False
    return bool(max(drift.ratio, 1.0 / drift.ratio) - 1.0 >= limits()["drift"][limit])


def drift_text(drift: Drift) -> str:
    """The drift in one clause."""
    return f"base itself became {gain_text(1.0 / drift.ratio)} from the first block to the last"


def advice_of(
    drift: Drift | None,
    left_out: Sequence[Quarantined],
    planned: int,
    *,
    noisy: bool,
    blocks: int | None,
    per_block: int = 0,
) -> tuple[str, ...]:
    """What to do, a sentence each, worst first; empty where nothing is in doubt. `per_block` launches make a block."""
    said = _left_out(left_out, planned)
    if drift is not None and drifted(drift, "told"):
        text = drift_text(drift)
        said.append(
            f"{text[:1].upper()}{text[1:]} (chance {drift.chance:.2g}): look for what warmed up, throttled or filled,"
            " wait until it is steady, and measure again."
        )
    if noisy:
        launches = f" ({blocks * per_block} launches)" if blocks and per_block else ""
        again = "more" if blocks else "again"
        said.append(
            f"End other work on the nodes, pin their clocks, and measure {again}: {needed_text(blocks)}{launches}."
        )
    return tuple(said)


def _left_out(blocks: Sequence[Quarantined], planned: int) -> list[str]:
    if not blocks:
        return []
    (reason, times), *others = Counter(block.reason for block in blocks).most_common()
    more = f" and {counted(len(others), 'other reason')}" if others else ""
    much = " Mend that first: it disturbs most blocks." if 2 * len(blocks) >= planned else ""
    return [f"{counted(len(blocks), 'block')} left out as disturbed: {reason} ({times}x){more}.{much}"]
