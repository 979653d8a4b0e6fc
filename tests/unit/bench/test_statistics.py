"""Claims of fabricdoc.bench.statistics, with scipy as the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fabricdoc.bench import statistics as subject

pytestmark = pytest.mark.unit

finite = st.floats(min_value=-5.0, max_value=5.0)
times = st.floats(min_value=1e-3, max_value=1e7)


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=20), comparisons=st.integers(1, 20))
def test_the_t_interval_agrees_with_scipy(logs: list[float], comparisons: int) -> None:
    got = subject.t_interval(logs, comparisons=comparisons)
    half = stats.t.ppf(1 - 0.025 / comparisons, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    bound = math.log(subject.RATIO_BOUND)
    assert got.ratio == pytest.approx(math.exp(fmean(logs)), rel=1e-9)
    assert math.log(got.low) == pytest.approx(max(fmean(logs) - half, -bound), abs=1e-7)
    assert math.log(got.high) == pytest.approx(min(fmean(logs) + half, bound), abs=1e-7)
    assert (got.blocks, got.method) == (len(logs), "t")


@pytest.mark.parametrize(
    ("blocks", "comparisons", "method"),
    [(5, 1, "t"), (6, 1, "sign-flip"), (6, 2, "t"), (7, 3, "sign-flip"), (8, 6, "sign-flip"), (8, 7, "t"),
     (9, 12, "sign-flip"), (40, 54, "sign-flip"), (40, 55, "t")],
)  # fmt: skip
def test_the_exact_interval_is_used_as_soon_as_it_could_call_anything(blocks, comparisons, method) -> None:
    got = subject.paired_interval([0.01 * (place % 7) for place in range(blocks)], comparisons=comparisons)
    assert got.method == method


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=12), fewer=st.integers(1, 9))
def test_more_comparisons_never_narrow_an_interval_of_one_method(logs: list[float], fewer: int) -> None:
    one, ten = (subject.paired_interval(logs, comparisons=count) for count in (fewer, 10))
    assert one.method != ten.method or ten.low <= one.low <= one.high <= ten.high


def noises() -> dict[str, Callable[[random.Random], float]]:
    """Noise of one launch in log units: near normal, heavy tails, skewed to slow, two modes."""
    return {
        "normal": lambda chance: chance.gauss(0.0, 0.05),
        "heavy": lambda chance: chance.gauss(0.0, 0.03) * (8.0 if chance.random() < 0.05 else 1.0),
        "skewed": lambda chance: chance.expovariate(1 / 0.05),
        "two modes": lambda chance: chance.gauss(0.0, 0.02) + (0.15 if chance.random() < 0.3 else 0.0),
    }


def wrongly_called(noise: Callable[[random.Random], float], blocks: int, candidates: int, runs: int) -> tuple[int, int]:
    """In how many runs without any effect some interval lies beside 1, and in how many some lies above."""
    chance = random.Random(f"{blocks}/{candidates}")
    wrong = above = 0
    for _ in range(runs):
        bases = [(noise(chance), noise(chance)) for _ in range(blocks)]
        ends = []
        for _ in range(candidates):
            mine = [noise(chance) for _ in range(blocks)]
            differences = [(one - own, two - own) for (one, two), own in zip(bases, mine, strict=True)]
            ends.append(subject.block_interval(differences, comparisons=candidates))
        wrong += any(one.low > 1.0 or one.high < 1.0 for one in ends)
        above += any(one.low > 1.0 for one in ends)
    return wrong, above


@pytest.mark.long
@pytest.mark.parametrize("kind", list(noises()))
@pytest.mark.parametrize(("blocks", "candidates"), [(6, 1), (6, 5), (6, 12)])
def test_the_correction_holds_the_error_of_the_whole_family(kind: str, blocks: int, candidates: int) -> None:
    """Of runs without an effect at most 5 % show one, and 2.5 % a false gain: before the A/A floor and any noise."""
    wrong, above = wrongly_called(noises()[kind], blocks, candidates, 200)
    assert wrong <= 0.05 * 200 + 9  # three standard errors
    assert above <= 0.025 * 200 + 7


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(finite, finite), min_size=6, max_size=9), st.floats(-1, 1))
def test_relabelling_moves_with_an_effect_and_turns_with_its_sign(pairs: list[tuple[float, float]], by: float) -> None:
    got = subject.block_interval(pairs, comparisons=2)
    moved = subject.block_interval([(one + by, two + by) for one, two in pairs], comparisons=2)
    turned = subject.block_interval([(-one, -two) for one, two in pairs], comparisons=2)
    assert (got.method, got.blocks) == ("relabelling", len(pairs))
    assert got.low <= got.ratio <= got.high
    assert (moved.low, moved.high) == (
        pytest.approx(got.low * math.exp(by), rel=1e-9), pytest.approx(got.high * math.exp(by), rel=1e-9),
    )  # fmt: skip
    assert (turned.low, turned.high) == (pytest.approx(1 / got.high), pytest.approx(1 / got.low))


def test_blocks_of_unlike_numbers_of_launches_are_read_by_t() -> None:
    assert subject.block_interval([(0.1, 0.2)] * 7 + [(0.1,)]).method == "t"
    assert subject.block_interval([(0.1, 0.2)] * 6, comparisons=18).method == "relabelling"
    assert subject.block_interval([(0.1, 0.2)] * 6, comparisons=19).method == "t"


@pytest.mark.long
def test_without_the_correction_the_family_errs_far_more_often() -> None:
    chance, wrong = random.Random(4), 0
    for _ in range(300):
        bases = [chance.gauss(0, 0.035) for _ in range(8)]
        ends = [subject.paired_interval([base - chance.gauss(0, 0.05) for base in bases]) for _ in range(12)]
        wrong += any(one.low > 1.0 or one.high < 1.0 for one in ends)
    assert wrong > 60


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=2, max_size=12))
def test_swapping_base_and_candidate_inverts_the_interval(logs: list[float]) -> None:
    there, back = subject.paired_interval(logs), subject.paired_interval([-value for value in logs])
    assert there.low * back.high == pytest.approx(1.0, rel=1e-9)


def test_one_block_says_nothing_yet_stays_finite() -> None:
    got = subject.paired_interval([0.3])
    assert (got.low, got.high) == (pytest.approx(1e-6), pytest.approx(1e6))
    assert got.ratio == pytest.approx(math.exp(0.3))


@pytest.mark.parametrize("logs", [[], [math.nan, 1.0], [math.inf, 1.0]])
def test_paired_interval_refuses_what_is_no_number(logs: list[float]) -> None:
    with pytest.raises(ValueError, match="log ratio"):
        subject.paired_interval(logs)


def test_paired_interval_refuses_no_comparison() -> None:
    with pytest.raises(ValueError, match="comparisons"):
        subject.paired_interval([0.1, 0.2], comparisons=0)


def test_t_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    random.seed(7)
    held = 0
    for _ in range(1000):
        got = subject.t_interval([random.gauss(0.1, 0.05) for _ in range(6)])
        held += got.low <= math.exp(0.1) <= got.high
    assert 930 <= held <= 970


@settings(deadline=None)
@given(st.lists(finite, min_size=2, max_size=12), st.lists(finite, min_size=2, max_size=12))
def test_the_unpaired_interval_is_welch_s(first: list[float], second: list[float]) -> None:
    if stdev(first) + stdev(second) < 1e-3:
        return
    got = subject.unpaired_interval(first, second)
    want = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    bound = math.log(subject.RATIO_BOUND)
    assert math.log(got.low) == pytest.approx(max(want.low, -bound), abs=1e-6)
    assert math.log(got.high) == pytest.approx(min(want.high, bound), abs=1e-6)
    assert (got.blocks, got.method) == (min(len(first), len(second)), "welch-t")


def test_one_value_on_a_side_says_nothing_about_a_difference() -> None:
    got = subject.unpaired_interval([0.3], [0.1, 0.2])
    assert (got.low, got.high) == (pytest.approx(1e-6), pytest.approx(1e6))
    assert subject.unpaired_interval([0.3, 0.3], [0.1, 0.1]).low == pytest.approx(math.exp(0.2))


@pytest.mark.parametrize(("spread", "base_spread"), [(0.05, 0.04), (0.01, 0.01), (0.0, 0.0)])
def test_the_blocks_needed_are_the_fewest_that_would_call_the_effect(spread: float, base_spread: float) -> None:
    def smallest(blocks: int) -> float:
        own = stats.t.ppf(1 - 0.025 / 4, blocks - 1) * spread
        return math.exp((own + base_spread) / math.sqrt(blocks)) - 1

    needed = subject.blocks_needed(spread, base_spread, 0.05, comparisons=4)
    assert needed is not None
    assert smallest(needed) <= 0.05
    assert needed == 6 or smallest(needed - 1) > 0.05


def test_hopeless_noise_has_no_number_of_blocks() -> None:
    assert subject.blocks_needed(2.0, 2.0, 0.01) is None
    assert subject.blocks_needed(math.inf, 0.1, 0.05) is None


def test_aa_floor_is_the_effect_of_base_on_itself_or_its_error() -> None:
    steady = [0.02, -0.02, 0.03, -0.03, 0.01, -0.01]
    assert subject.aa_floor(steady) == pytest.approx(math.exp(stdev(steady) / math.sqrt(6)) - 1, rel=1e-9)
    drifting = [0.05, 0.06, 0.04, 0.05, 0.05, 0.05]
    assert subject.aa_floor(drifting) == pytest.approx(math.exp(0.05) - 1, rel=1e-9)


@settings(deadline=None)
@given(logs=st.lists(finite, min_size=1, max_size=12))
def test_aa_floor_does_not_care_which_base_came_first(logs: list[float]) -> None:
    assert subject.aa_floor(logs) == pytest.approx(subject.aa_floor([-value for value in logs]), rel=1e-9)
    assert subject.aa_floor(logs) >= 0.0


def test_aa_floor_of_few_blocks() -> None:
    assert subject.aa_floor([]) == 0.0
    assert subject.aa_floor([-0.1]) == pytest.approx(math.exp(0.1) - 1)


def test_smallest_effect_is_the_ratio_that_would_just_have_been_called() -> None:
    floor, interval = 0.03, subject.paired_interval([0.01, 0.02, -0.02, 0.03, -0.01, 0.0])
    half = subject.interval_half_width(interval)
    effect = subject.smallest_effect([half], floor)
    shifted_low = (1 + effect) * math.exp(-half)
    assert shifted_low == pytest.approx(1 + floor, rel=1e-9)


def test_smallest_effect_takes_the_least_certain_candidate() -> None:
    assert subject.smallest_effect([0.01, 0.05, 0.02], 0.0) == pytest.approx(math.exp(0.05) - 1)
    assert subject.smallest_effect([], 0.05) == pytest.approx(0.05)


@pytest.mark.parametrize(("logs", "want"), [([900.0, 901.0], 1e6), ([-900.0, -901.0], 1e-6)])
def test_a_ratio_beyond_all_measure_is_clamped_and_stays_finite(logs: list[float], want: float) -> None:
    got = subject.paired_interval(logs)
    assert got.ratio == pytest.approx(want)
    assert 0.0 < got.low <= got.ratio <= got.high < math.inf
    assert subject.aa_floor(logs) == pytest.approx(1e6 - 1)


def test_equal_blocks_leave_an_interval_of_no_width() -> None:
    got = subject.paired_interval([0.1] * 6, comparisons=8)
    assert got.low == pytest.approx(got.high) == pytest.approx(math.exp(0.1))
    assert subject.interval_half_width(got) == pytest.approx(0.0, abs=1e-12)
    assert subject.half_width([0.1]) == math.inf
