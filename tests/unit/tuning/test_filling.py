"""What a run lacks for a profile comes as one bench call, ready to paste, and never where nothing is lacking."""

from __future__ import annotations

import shlex

import pytest

from fabricdoc.model.run import Shape
from fabricdoc.tuning.filling import MOST_SIZES, bench_call, fill_text
from fabricdoc.tuning.stage import StageRecipe

pytestmark = pytest.mark.unit


def _recipe(*wanted: tuple[str, int]) -> StageRecipe:
    return StageRecipe("decode", missing=("something",), wanted=wanted)


def test_nothing_lacking_is_no_call(synthetic) -> None:
    run = synthetic().run()
    assert bench_call(run, [_recipe()], "p") == ""
    assert fill_text(run, {"decode": _recipe()}, "p", ("decode",)) == ()


def test_another_profile_is_named_and_brings_its_own_sizes(synthetic) -> None:
    words = shlex.split(bench_call(synthetic().run(), [_recipe(("all_gather", 64))], "/home/me/my profile.toml"))
    assert words == ["fabricdoc", "bench", "--nodes", "alpha=netns:alpha,beta=netns:beta",
                     "--profile", "/home/me/my profile.toml"]  # fmt: skip


def test_the_runs_own_profile_gets_its_sizes_by_name(synthetic) -> None:
    recipes = [_recipe(("all_gather", 64), ("all_reduce", 8)), _recipe(("all_gather", 64))]
    words = shlex.split(bench_call(synthetic().run(), recipes, "dense-small-tp2"))
    assert words[-4:] == ["--ops", "all_gather,all_reduce", "--sizes", "8,64"]


def test_the_list_of_sizes_is_bounded(synthetic) -> None:
    many = _recipe(*(("all_reduce", 8 * number) for number in range(1, 100)))
    words = shlex.split(bench_call(synthetic().run(), [many], "dense-small-tp2"))
    assert len(words[-1].split(",")) == MOST_SIZES


def test_only_what_the_objective_weighs_is_asked_for(synthetic) -> None:
    run = synthetic().run()
    recipes = {"decode": _recipe(("all_reduce", 8)), "prefill": _recipe(("all_gather", 64))}
    (text,) = fill_text(run, recipes, "other", ("decode",))
    assert text.startswith("To measure what this profile sends and run run-1 lacks: fabricdoc bench --nodes ")
    own = fill_text(run, recipes, "dense-small-tp2", ("decode",))[0]
    assert own.endswith("--ops all_reduce --sizes 8")


def test_what_the_plan_held_and_nobody_measured_is_no_matter_of_sizes(synthetic) -> None:
    run = synthetic().run()
    plan = run.plan.model_copy(update={"shapes": (Shape(op="all_reduce", size=8),)})
    planned = run.model_copy(update={"plan": plan})
    assert bench_call(planned, [_recipe(("all_reduce", 8))], "dense-small-tp2") == ""
    words = shlex.split(bench_call(planned, [_recipe(("all_reduce", 8), ("all_gather", 8))], "dense-small-tp2"))
    assert words[-4:] == ["--ops", "all_gather", "--sizes", "8"]
