"""Numbers as people read them: two significant digits, a unit, no powers of ten, one line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.model.verdict import CellVerdict, Interval
from fabricdoc.tuning import wording as subject

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.8349, "0.83"), (0.05, "0.05"), (7.44, "7.4"), (7.0, "7.0"), (9.97, "10"), (16.4, "16"),
     (123.0, "120"), (16400.0, "16000"), (-3.14, "-3.1")],
)  # fmt: skip
def test_digits(value: float, text: str) -> None:
    assert subject.digits(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(8, "8 B"), (1023, "1023 B"), (1024, "1 KiB"), (20480, "20 KiB"), (496640, "485 KiB"), (1986560, "1.9 MiB"),
     (2621440, "2.5 MiB"), (41943040, "40 MiB"), (167772160, "160 MiB"), (3 << 30, "3 GiB"), (5000 << 30, "5000 GiB")],
)  # fmt: skip
def test_sizes(size: int, text: str) -> None:
    assert subject.size_text(size) == text


@pytest.mark.parametrize(
    ("micros", "text"),
    [(7.31, "7.3 µs"), (95.4, "95 µs"), (102.0, "100 µs"), (994.0, "990 µs"), (996.0, "1.0 ms"), (16400.0, "16 ms"),
     (996000.0, "1.0 s"), (2.5e6, "2.5 s")],
)  # fmt: skip
def test_times(micros: float, text: str) -> None:
    assert subject.time_text(micros) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.18, "18 % faster"), (1.034, "3.4 % faster"), (1 / 1.12, "12 % slower"), (3.1, "3.1x faster"),
     (0.25, "4.0x slower"), (1.0, "0 % faster")],
)  # fmt: skip
def test_gains(ratio: float, text: str) -> None:
    assert subject.gain_text(ratio) == text


@pytest.mark.parametrize(("effect", "text"), [(0.034, "3.4 %"), (0.99, "99 %"), (3.63, "4.6x"), (0.0, "0 %")])
def test_effects_without_a_side(effect: float, text: str) -> None:
    assert subject.effect_text(effect) == text


@pytest.mark.parametrize(
    ("low", "ratio", "high", "text"),
    [
        (1.12, 1.18, 1.24, "18 % faster (95 % interval 12 % to 24 % faster, 8 blocks)"),
        (1 / 1.24, 1 / 1.18, 1 / 1.12, "18 % slower (95 % interval 12 % to 24 % slower, 8 blocks)"),
        (1 / 1.03, 1.01, 1.05, "1.0 % faster (95 % interval 3.0 % slower to 5.0 % faster, 8 blocks)"),
        (1.9, 2.0, 2.2, "2.0x faster (95 % interval 1.9x to 2.2x faster, 8 blocks)"),
        (1 / 2.2, 0.5, 1 / 1.9, "2.0x slower (95 % interval 1.9x to 2.2x slower, 8 blocks)"),
    ],
)
def test_intervals(low: float, ratio: float, high: float, text: str) -> None:
    assert subject.interval_text(Interval(ratio=ratio, low=low, high=high, blocks=8)) == text


ratios = st.floats(1e-6, 1e6)


@settings(deadline=None)
@given(st.lists(ratios, min_size=3, max_size=3).map(sorted), st.integers(1, 99))
def test_an_interval_never_names_the_wrong_side(ordered: list[float], blocks: int) -> None:
    low, ratio, high = ordered
    text = subject.interval_text(Interval(ratio=ratio, low=low, high=high, blocks=blocks))
    assert text.split(" (")[0].endswith("faster" if ratio >= 1 else "slower")
    assert ("slower to" in text) == (low < 1 <= high)
    assert text.count("slower") == (ratio < 1) + (low < 1)
    assert "e+" not in text and "e-" not in text


def test_a_cell_names_both_times() -> None:
    cell = CellVerdict(
        view="eager", op="all_reduce", size=41943040, phase="prefill", base_us=16400, candidate_us=18900,
        interval=Interval(ratio=0.87, low=0.83, high=0.91, blocks=8), floor=0.02, verdict="worse",
    )  # fmt: skip
    assert subject.cell_text(cell) == (
        "all_reduce 40 MiB (eager) takes 19 ms against 16 ms of base,"
        " 15 % slower (95 % interval 9.9 % to 20 % slower, 8 blocks)"
    )


@settings(deadline=None)
@given(st.text())
def test_foreign_text_becomes_one_bounded_line(text: str) -> None:
    line = subject.one_line(text, 40)
    assert len(line) <= 40
    assert line.isprintable()
    assert not re.search(r"\s\s|^\s|\s$", line)


def test_foreign_text_that_fits_is_kept() -> None:
    assert subject.one_line("a\x1b[31mred\n b") == "a [31mred b"
    assert subject.one_line("x" * 200).endswith("…")
