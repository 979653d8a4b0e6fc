"""Values as text: harmless, short, with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.report.text import (
    clean,
    columns,
    counted,
    cut,
    effect_text,
    fact_text,
    micros_text,
    percent_text,
    rate_text,
    ratio_text,
    seconds_text,
    size_text,
    to_paste,
)
from fabricdoc.tuning import wording

pytestmark = pytest.mark.unit


@given(st.text())
def test_clean_text_is_printable_and_on_one_line(text: str) -> None:
    made = clean(text)
    assert made.isprintable() or all(letter.isprintable() or letter.isspace() for letter in made)
    assert not set(made) & {"\x1b", "\n", "\r", "\x07", "\x9b", "\u202e", "\u200f", "\ufeff"}
    assert len(made.splitlines()) <= 1


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_what_is_hidden_becomes_visible() -> None:
    assert clean("a\x1b[31mb\n") == "a\\x1b[31mb\\n"
    assert clean("\u202eabc\u2028") == "\\u202eabc\\u2028"
    assert clean("\udc80") == "\\udc80"
    assert clean("µ 名") == "µ 名"
    assert clean(7) == "7"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1023, "1023 B"),
        (20480, "20 KiB"),
        (1536, "1.5 KiB"),
        (42 << 20, "42 MiB"),
        (1 << 40, "1 TiB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("micros", "text"), [(0.5, "0.50"), (7.456, "7.46"), (41.04, "41.0"), (99.94, "99.9"), (1234.5, "1,234")]
)
def test_micros(micros: float, text: str) -> None:
    assert micros_text(micros) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (3600, "1 h")],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_ratios_rates_and_counts() -> None:
    assert [ratio_text(value) for value in (0.956, 1.0, 12.34, 123456.0)] == ["0.96", "1.00", "12.3", "1.23e+05"]
    assert [percent_text(value) for value in (0.0, 0.042, 0.1, 1.5)] == ["0.0 %", "4.2 %", "10 %", "150 %"]
    assert [rate_text(value) for value in (200000, 2500, 100)] == ["200 Gb/s", "2.5 Gb/s", "100 Mb/s"]
    assert [counted(count, "launch", "launches") for count in (0, 1, 2)] == ["0 launches", "1 launch", "2 launches"]


def test_facts() -> None:
    assert fact_text(9000) == "9000"
    assert fact_text(1.5, lambda value: f"{value} x") == "1.5 x"
    assert fact_text(Unknown(unknown="no file")) == "?"


@given(st.text(alphabet="a名e\u0301é", max_size=20), st.integers(0, 20))
def test_cut_fits(text: str, width: int) -> None:
    made = cut(text, width)
    assert columns(made) <= width
    assert text.startswith(made)
    assert made == text or columns(text) > width


def test_columns_of_wide_and_combining_characters() -> None:
    assert [columns(text) for text in ("abc", "名前", "e\u0301")] == [3, 4, 1]


@given(st.floats(0.0001, 9.9))
def test_an_effect_has_the_digits_of_the_verdicts_sentence(effect: float) -> None:
    assert effect_text(effect) == wording.effect_text(effect)


def test_effects() -> None:
    assert [effect_text(one) for one in (0.034, 0.56, 5.57)] == ["3.4 %", "56 %", "6.6x"]


def test_what_a_reason_ends_with_in_backticks_is_to_be_pasted() -> None:
    assert to_paste("name the ports: `--ports a,b`") == ("name the ports:", "--ports a,b")
    for plain in ("no backticks", "`alone`", "open `--ports a", "`a` in the middle"):
        assert to_paste(plain) == (plain, "")
