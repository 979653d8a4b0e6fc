"""Versions and conditions on them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.versions import parse_conditions, parse_release, satisfies

pytestmark = pytest.mark.unit

RELEASES = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("2.28.9", (2, 28, 9)),
        ("2.28.9+cuda13.0", (2, 28, 9)),
        ("2.24", (2, 24, 0)),
        (" 2.30.7-1", (2, 30, 7)),
        ("", None),
        ("<=2.3.5", None),
        ("2", None),
        ("2.3.4.5", None),
        ("x2.3", None),
    ],
)
def test_releases(text: str, release: tuple[int, int, int] | None) -> None:
    assert parse_release(text) == release


@pytest.mark.parametrize(
    ("conditions", "yes", "no"),
    [
        (">=2.24", "2.24.0", "2.23.4"),
        ("<2.24", "2.23.4", "2.24"),
        (">=2.20, <2.24", "2.22.3", "2.24.3"),
        (">2.24", "2.24.3", "2.24"),
        ("<=2.24", "2.24", "2.24.3"),
        ("==2.28.9", "2.28.9+cuda13.0", "2.28.7"),
    ],
)
def test_conditions(conditions: str, yes: str, no: str) -> None:
    parsed = parse_conditions(conditions)
    accepted, refused = parse_release(yes), parse_release(no)
    assert parsed and accepted and refused
    assert satisfies(accepted, parsed)
    assert not satisfies(refused, parsed)


@pytest.mark.parametrize("text", ["", "2.24", ">=", ">=2", "~=2.24", ">=2.24,", ">=2.24;<3.0", "=>2.24"])
def test_malformed_conditions_are_none(text: str) -> None:
    assert parse_conditions(text) is None


@given(RELEASES, RELEASES)
def test_conditions_order_releases_as_numbers(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    bound = ".".join(map(str, two))
    for sign, expected in ((">=", one >= two), ("<", one < two), ("==", one == two)):
        conditions = parse_conditions(sign + bound)
        assert conditions is not None
        assert satisfies(one, conditions) is expected


@given(st.text(max_size=40))
def test_no_text_breaks_them(text: str) -> None:
    parse_release(text)
    parse_conditions(text)
