"""Standings against the truth of synthetic runs: the order is right, few blocks and outliers do not upset it."""

from __future__ import annotations

import math

import pytest

from fabricdoc.tuning.standing import standings

pytestmark = pytest.mark.unit

TRUE = {"good": 1.4, "fair": 1.15, "nil": 1.0, "bad": 0.7}
LOGITS = ("eager", "all_gather", 256000)


def _run(synthetic, **more):  # type: ignore[no-untyped-def]
    return synthetic(effects={name: {None: ratio} for name, ratio in TRUE.items()}, **more).run()


def test_ratios_and_noise_are_those_of_the_run(synthetic, profile) -> None:
    got = standings(_run(synthetic, noise=0.03, blocks=20, confirm=0), profile, "decode")
    for name, ratio in TRUE.items():
        assert got.of[name].log_ratio == pytest.approx(math.log(ratio), abs=0.03)
        assert got.of[name].launches == 20
    assert got.noise == pytest.approx(0.03, rel=0.25)
    assert (got.base_launches, got.free) == (40, 20 * 6 - 5 - 20 + 1)


def test_a_shift_of_whole_blocks_changes_nothing(synthetic, profile) -> None:
    steady, shaken = (
        standings(_run(synthetic, noise=0.001, drift=drift, blocks=3, confirm=0), profile, "decode")
        for drift in (0.0, 0.5)
    )
    for name in TRUE:
        assert shaken.of[name].log_ratio == pytest.approx(steady.of[name].log_ratio, abs=0.01)


def test_candidates_of_different_blocks_are_ranked_together(synthetic, profile) -> None:
    run = _run(synthetic, noise=0.01, drift=0.3, blocks=8, confirm=0)
    kept = [one for one in run.launches if one.candidate != "fair" or one.block >= 5]
    kept = [one for one in kept if one.candidate not in ("good", "bad") or one.block < 3]
    got = standings(run.model_copy(update={"launches": tuple(kept)}), profile, "decode")
    assert sorted(got.of, key=lambda name: -got.of[name].log_ratio) == ["good", "fair", "nil", "bad"]
    assert {name: place.launches for name, place in got.of.items()} == {"good": 3, "fair": 3, "nil": 8, "bad": 3}


def test_one_launch_far_off_moves_little(synthetic, profile) -> None:
    def spoilt(launch):  # type: ignore[no-untyped-def]
        if (launch.candidate, launch.block) != ("good", 1):
            return launch
        cells = tuple(cell.model_copy(update={"median_us": cell.median_us * 20}) for cell in launch.cells)
        return launch.model_copy(update={"cells": cells})

    run = _run(synthetic, noise=0.02, drift=0.0, blocks=6, confirm=0)
    run = run.model_copy(update={"launches": tuple(spoilt(one) for one in run.launches)})
    got = standings(run, profile, "decode")
    assert got.of["good"].log_ratio == pytest.approx(math.log(1.4), abs=0.06)
    assert got.noise < 0.06


def test_mix_names_who_loses_at_a_size_of_the_profile_and_decode_does_not(synthetic, profile) -> None:
    run = synthetic(effects={"one": {None: 1.3, LOGITS: 0.6}, "two": {}}, noise=0.01).run()
    assert standings(run, profile, "mix").lost == {"one"}
    assert standings(run, profile, "decode").lost == frozenset()


def test_mix_ranks_by_both_stages(synthetic, profile) -> None:
    prefill = ("eager", "all_reduce", 2621440)
    run = synthetic(effects={"one": {prefill: 1.5}, "two": {}}, noise=0.005).run()
    both, decode = (standings(run, profile, objective).of["one"].log_ratio for objective in ("mix", "decode"))
    assert both == pytest.approx(math.log(1.5) / 2, abs=0.02)
    assert decode == pytest.approx(0.0, abs=0.02)


def test_disturbed_blocks_and_runs_without_any_block_say_nothing(synthetic, profile) -> None:
    run = _run(synthetic, blocks=2, confirm=0)
    disturbed = [one.model_copy(update={"disturbed": "x"}) for one in run.launches]
    got = standings(run.model_copy(update={"launches": tuple(disturbed)}), profile, "decode")
    assert (got.of, got.free, got.base_launches) == ({}, 0.0, 0)
    assert standings(run.model_copy(update={"launches": ()}), profile, "mix").of == {}


def test_one_block_has_no_degrees_of_freedom_to_drop_by(synthetic, profile) -> None:
    got = standings(synthetic(effects={"one": {}}, blocks=1, confirm=0).run(), profile, "decode")
    assert (got.free, got.of["one"].launches) == (1.0, 1)
