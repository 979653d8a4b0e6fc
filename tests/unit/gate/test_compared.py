"""How two facts are compared, with unknowns on either side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.gate.compared import Compared, compare, fact_text
from fabricdoc.model.documents import Unknown

pytestmark = pytest.mark.unit

FACTS = st.one_of(st.integers(0, 3), st.builds(Unknown, unknown=st.sampled_from(["no file", "no right"])))


@given(FACTS, FACTS)
def test_the_table(expected: int | Unknown, seen: int | Unknown) -> None:
    got = compare("mtu", "alpha", "p0", expected, seen)
    if isinstance(expected, Unknown) or isinstance(seen, Unknown):
        assert got.outcome == ("ok" if expected == seen else "unknown")
        assert got.note
    else:
        assert got.outcome == ("ok" if expected == seen else "differs")
        assert not got.note


def test_the_check_says_what_it_is_about() -> None:
    check = compare("speed", "alpha", "p0", 10, 20, show=lambda mbps: f"{mbps} Mbit/s").check()
    assert (check.id, check.place, check.expected, check.found) == ("speed", "alpha/p0", "10 Mbit/s", "20 Mbit/s")
    lost = compare("kernel", "alpha", "", Unknown(unknown="no file"), Unknown(unknown="no file"))
    assert (lost.check().place, lost.check().note) == ("alpha", "unknown then and now")
    assert lost.check().expected == "unknown: no file"


def test_places() -> None:
    assert Compared("mtu", "alpha", "p0", "", "", "ok").place == "alpha/p0"
    assert Compared("kernel", "alpha", "", "", "", "ok").place == "alpha"
    assert fact_text(3) == "3"
