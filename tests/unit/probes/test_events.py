"""A worker's lines: the known ones pass unchanged, everything else is named and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.events import PHASES, parse_event

pytestmark = pytest.mark.unit

WORDS = st.text('aZ_-0 \n"\u00e9\u2028', max_size=9)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
SHAPE = {"op": WORDS, "size": st.integers(0, 1 << 40), "dtype": WORDS, "in_place": st.booleans()}
EVENTS = st.one_of(
    st.fixed_dictionaries({"event": st.just("store"), "port": st.integers(0, 65535)}),
    st.fixed_dictionaries(
        {"event": st.just("phase"), "phase": st.sampled_from(PHASES), "what": WORDS, "at_s": NUMBERS}
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("cell"),
            "view": WORDS,
            **SHAPE,
            "samples": st.lists(NUMBERS, max_size=5),
            "replays": st.lists(NUMBERS, max_size=5),
            "correct": st.booleans(),
            "wrong": st.integers(0, 1 << 40),
        }
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("skew"),
            "view": WORDS,
            **SHAPE,
            "waits": st.lists(NUMBERS, max_size=5),
            "gated": st.lists(NUMBERS, max_size=5),
        }
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("direct"),
            "view": WORDS,
            **SHAPE,
            "samples": st.lists(NUMBERS, max_size=5),
            "wrong": st.integers(0, 1 << 40),
        }
    ),
    st.fixed_dictionaries(
        {"event": st.just("soak"), **SHAPE, "calls": st.integers(0, 1 << 40), "wrong": st.integers(0, 1 << 40)}
    ),
    st.fixed_dictionaries(
        {
            "event": st.just("end"),
            "status": st.sampled_from(["ok", "failed"]),
            "reason": WORDS,
            "timings_s": st.dictionaries(WORDS, NUMBERS, max_size=3),
        }
    ),
)


@given(event=EVENTS)
def test_our_events_pass_unchanged(event: dict[str, Any]) -> None:
    assert parse_event(json.dumps(event).encode()) == event


@given(event=EVENTS, extra=st.sampled_from(["number", "rank", "at_s_", "log"]))
def test_fields_that_are_not_ours_are_dropped(event: dict[str, Any], extra: str) -> None:
    assert parse_event(json.dumps({extra: "x", **event}).encode()) == event


@given(line=st.binary(max_size=200))
def test_noise_is_refused_and_never_crashes(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"no JSON|no such event|of "):
        parse_event(line)


@pytest.mark.long
@given(event=EVENTS, data=st.data(), wrong=st.sampled_from([None, [], {}, "x\x00", -1.5, True, float("nan"), [None]]))
def test_a_field_of_the_wrong_kind_is_refused_or_equal(event: dict[str, Any], data: st.DataObject, wrong: Any) -> None:
    field = data.draw(st.sampled_from(sorted(set(event) - {"event"})))
    line = json.dumps({**event, field: wrong}).encode()
    try:
        parsed = parse_event(line)
    except ValueError:
        return
    assert type(parsed[field]) is type(wrong)
    assert parsed[field] == wrong


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"NCCL WARN something", "no JSON"),
        (b"[1, 2]", "no such event"),
        (b'{"event": "rank_done"}', "no such event"),
        (b'{"event": ["cell"]}', "no such event"),
        (b'{"event": "phase", "phase": "lunch", "at_s": 1}', "phase of phase is 'lunch'"),
        (b'{"event": "store", "port": "22"}', "port of store is '22'"),
        (b'{"event": "store", "port": true}', "port of store"),
        (b'{"event": "phase", "phase": "init", "what": "", "at_s": Infinity}', "at_s of phase"),
        (b'{"event": "phase", "phase": "init", "what": "%s", "at_s": 1}' % (b"x" * 101), "what of phase"),
        (b'{"event": "phase", "phase": "init", "at_s": 1}', "what of phase is 'None'"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_the_refusal_names_what_is_wrong(line: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        parse_event(line)
    assert len(str(refused.value)) < 200
