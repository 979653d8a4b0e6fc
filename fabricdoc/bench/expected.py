"""How many blocks a difference is expected to take, before anything was measured: by the noise of recorded launches.

Once a run has blocks of its own, its verdict says what they show (`tuning`). Data: presets/measuring/noise.toml.
"""

from __future__ import annotations

from functools import lru_cache

from fabricdoc.bench.statistics import blocks_needed
from fabricdoc.files import own_folder, parse_toml


@lru_cache(maxsize=1)
def usual_noise() -> tuple[float, float]:
    """Standard deviations over blocks in log units: of a candidate against base, of base against itself."""
    text = own_folder("presets").joinpath("measuring/noise.toml").read_text(encoding="utf-8")
    usual = parse_toml(text)["usual"]
    return float(usual["candidate"]), float(usual["base"])


def blocks_for_effect(effect: float, comparisons: int = 1) -> int | None:
    """Blocks that would do to call a difference of `effect` (a ratio minus 1) of one of so many candidates.

    At least the six that any verdict needs; None where 999 would not do.
    """
    spread, base = usual_noise()
    return blocks_needed(spread, base, effect, comparisons=max(1, comparisons))
