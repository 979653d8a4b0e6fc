from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport.framing import TAIL_BYTES, Frames, Tail, read_message, write_message

pytestmark = pytest.mark.unit

NONCE = "0123456789abcdef"
PREFIX = f"\x1e{NONCE} ".encode()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)
NOISE = (
    st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")).filter(lambda data: not data.startswith(PREFIX))
)


@pytest.mark.long
@given(st.lists(st.one_of(MESSAGES, NOISE), max_size=8), st.lists(st.integers(1, 50), max_size=20))
def test_messages_survive_any_noise_and_any_cut(items: list[object], cuts: list[int]) -> None:
    lines = [PREFIX + json.dumps(item).encode() if isinstance(item, dict) else item for item in items]
    stream = b"".join(line + b"\n" for line in lines if isinstance(line, bytes))
    frames, got, at = Frames(NONCE), [], 0
    for cut in [*cuts, len(stream)]:
        got += frames.feed(stream[at : at + cut])
        at += cut
    assert got == [item for item in items if isinstance(item, dict)]
    assert not frames.broken
    noise = b"".join(item + b"\n" for item in items if isinstance(item, bytes))
    assert frames.noise.text() == noise.decode("utf-8", "replace")


@given(MESSAGES)
def test_what_is_written_is_one_line_that_reads_back(message: dict[str, object]) -> None:
    line = write_message(message)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert read_message(line) == message


@given(st.binary(max_size=200))
def test_any_marked_bytes_are_a_message_or_broken(data: bytes) -> None:
    frames = Frames(NONCE)
    line = data.replace(b"\n", b"")
    got = frames.feed(PREFIX + line + b"\n")
    assert bool(got) != bool(frames.broken)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{nope", "Expecting"),
        (b"[1]", "a JSON list"),
        (b"1", "a JSON int"),
        (b"", "Expecting"),
        (b'{"a":NaN}', "NaN is no JSON"),
        (b'{"a":-Infinity}', "Infinity"),
        (b'{"a":"\xff"}', "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5000 + b"}", "digit"),
    ],
)
def test_garbage_stops_the_reading_with_a_reason(line: bytes, words: str) -> None:
    frames = Frames(NONCE)
    good = PREFIX + b'{"n":1}\n'
    assert frames.feed(good + PREFIX + line + b"\n" + good) == [{"n": 1}]
    assert words in frames.broken
    assert frames.feed(good) == []


def test_a_mark_of_another_start_or_inside_a_line_is_noise() -> None:
    frames = Frames(NONCE)
    other = b'\x1effffffffffffffff {"a":1}\n'
    inside = b"x" + PREFIX + b'{"a":1}\n'
    assert frames.feed(other + inside + b'{"a":1}\n') == []
    assert frames.noise.text().count("\n") == 3


@pytest.mark.parametrize("head", [PREFIX, b""])
def test_a_line_that_never_ends_is_cut_off(head: bytes) -> None:
    frames = Frames(NONCE, limit=1000)
    assert frames.feed(head + b"x" * 900) == []
    assert not frames.broken
    frames.feed(b"x" * 200)
    assert "longer than 1000 bytes" in frames.broken


def test_a_marked_line_above_the_limit_is_not_read_even_when_whole() -> None:
    frames = Frames(NONCE, limit=1000)
    assert frames.feed(PREFIX + b'{"a":"' + b"x" * 1000 + b'"}\n') == []
    assert frames.broken


def test_noise_and_the_unfinished_line_are_kept_bounded() -> None:
    frames = Frames(NONCE)
    for _ in range(10):
        frames.feed(b"n" * TAIL_BYTES + b"\n")
    frames.feed(b"the end")
    frames.finish()
    text = frames.noise.text()
    assert len(text) == TAIL_BYTES
    assert text.endswith("\nthe end")


@given(st.lists(st.binary(max_size=30)), st.integers(1, 40))
def test_a_tail_is_the_end_of_everything(parts: list[bytes], limit: int) -> None:
    tail = Tail(limit)
    for part in parts:
        tail.add(part)
    assert tail.text() == b"".join(parts)[-limit:].decode("utf-8", "replace")


def test_what_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_message({"a": float("nan")})
    with pytest.raises(TypeError):
        write_message({"a": object()})
