"""Which bench call measures what a profile needs and a run lacks: the command line, ready to paste.

Only words; what is missing is the recipes' to say.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from fabricdoc.model.run import Run
from fabricdoc.tuning.aim import Phase
from fabricdoc.tuning.stage import StageRecipe

MOST_SIZES = 24


def bench_call(run: Run, recipes: Iterable[StageRecipe], profile: str) -> str:
    """`fabricdoc bench --nodes ... --profile P`: it times every size of the profile; empty where nothing is lacking.

    Where the run is of that profile (so that the same call would give the same run) the sizes are named instead. What
    the run was to measure and did not is no matter of sizes: asking for it again would say nothing new.
    """
    planned = {(shape.op, shape.size) for shape in run.plan.shapes}
    lacking = [(op, size) for recipe in recipes for op, size in recipe.wanted if (op, size) not in planned]
    if not lacking:
        return ""
    words = ["fabricdoc", "bench", "--nodes", ",".join(f"{node.name}={node.target}" for node in run.nodes)]
    words += ["--profile", profile]
    if run.plan.profile == profile:
        sizes = sorted({size for _, size in lacking})[:MOST_SIZES]
        words += ["--ops", ",".join(dict.fromkeys(op for op, _ in lacking)), "--sizes", ",".join(map(str, sizes))]
    return shlex.join(words)


def fill_text(run: Run, recipes: Mapping[Phase, StageRecipe], profile: str, due: Iterable[Phase]) -> tuple[str, ...]:
    """The advice, one sentence with the call; empty where the weighed stages lack nothing."""
    call = bench_call(run, [recipes[phase] for phase in due], profile)
    return (f"To measure what this profile sends and run {run.id} lacks: {call}",) if call else ()
