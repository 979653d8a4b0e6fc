"""Shapes: numbers and addresses are nothing, words are everything, and the table says the same of all of one shape."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.events import event_table, load_rules
from fabricdoc.nccl.reader import LogReader
from fabricdoc.nccl.shapes import WORDS, digit_words, holds, shape_of

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
MARK = " NCCL "


def messages() -> list[str]:
    """Every message of the recorded logs, once for each shape."""
    texts = [line.partition(MARK)[2].partition(" ")[2] for file in sorted(LOGS.glob("*")) for line in file.open()]
    return sorted({shape_of(text): text.rstrip("\n") for text in texts if text}.values())


def renumbered(text: str, chance: random.Random) -> str:
    """The same sentence with other digits and addresses; the words with digits stay."""
    kept = re.compile(r"(0x[0-9a-f]+|" + "|".join(map(re.escape, WORDS)) + ")")
    parts = kept.split(text)
    for at, part in enumerate(parts):
        if part.startswith("0x"):
            parts[at] = f"0x{chance.getrandbits(chance.choice((8, 44))):x}"
        elif at % 2 == 0:
            parts[at] = re.sub("[0-9]", lambda _digit: str(chance.randrange(10)), part)
    return "".join(parts)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("retry 3/34 of 0x7fa0", "retry 9/17 of 0x1", True),
        ("retry 3", "retry 13", False),
        ("peer 10.0.0.2<40812>", "peer 10.0.0.7<51999>", True),
        ("via P2P/IPC", "via P3P/IPC", True),
        ("3x81 0x1", "0x1 3x81", False),
        ("opCount 1f sendbuff", "opCount 2 sendbuff", True),
        ("opcount 1f", "opcount 2", False),
        ("0x1fgh", "0x2gh", True),
        ("0xdead beef", "0xdead", False),
        ("error 12", "errors 12", False),
        ("a\nb", "a b", False),
        ("", "", True),
    ],
)
def test_what_has_the_same_shape(one: str, other: str, same: bool) -> None:
    assert (shape_of(one) == shape_of(other)) is same


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("via P2P/IPC", True),
        ("via P3P/IPC", False),
        ("1 p2p channels, 2 p2p", True),
        ("1 p3p channels, 2 p2p", False),
        ("mlx5dv_x failed on mlx4_0", True),
        ("mlx4dv_x failed", False),
        ("Defaulting to 10 Gbps.", True),
        ("Defaulting to 11 Gbps.", False),
        ("110 Gbps", True),
    ],
)
def test_a_shape_that_may_hold_a_word_answers_for_texts_that_do(text: str, held: bool) -> None:
    assert holds(text, digit_words(shape_of(text))) is held


def test_pieces_of_a_shape_are_shapes_of_pieces() -> None:
    text = "".join(file.read_text() for file in sorted(LOGS.glob("*.log")))
    assert shape_of(text).split(b" NCCL ") == [shape_of(piece) for piece in text.split(" NCCL ")]
    assert shape_of(text).split(b"\n") == [shape_of(piece) for piece in text.split("\n")]


def test_every_word_with_digits_that_the_table_asks_for_is_kept() -> None:
    """Else a text could be taken for another one whose digits make it something else."""
    found = set()
    for rule in load_rules():
        pattern = re.sub(r"\{\d*,?\d*\}|\[[^\]]*\]|\?P<\w+>|\\.", "~", rule.regex.pattern)
        texts = [pattern, *(needle for needles in rule.needles for needle in needles)]
        found |= {(rule.event, word) for text in texts for word in re.findall(r"\w*\d\w*", text)}
    unknown = {(event, word) for event, word in found if word != "0x" and not any(keeps(word, one) for one in WORDS)}
    assert found and unknown == set()


def keeps(word: str, kept: str) -> bool:
    """Whether a kept word holds all digits of a word of the table."""
    digits = re.sub(r"\D", "", word)
    return digits == re.sub(r"\D", "", kept) and (word in kept or kept in word)


def test_the_table_says_the_same_of_every_text_of_a_shape() -> None:
    chance = random.Random(4)
    find = event_table().find_message
    for text in messages():
        found = find(text)
        for _ in range(3):
            other = renumbered(text, chance)
            again = find(other)
            assert (again and again.event) == (found and found.event), (text, other)


def test_groups_are_each_lines_own() -> None:
    line = "n1:7:8 [0] NCCL INFO ncclCommInitRank comm 0x{0:x} rank {0} nranks 64 cudaDev 0 busId 1b0 - Init COMPLETE\n"
    events = list(LogReader("".join(line.format(rank) for rank in range(10, 50))))
    assert [event.groups["rank"] for event in events] == [str(rank) for rank in range(10, 50)]
    assert [event.groups["comm"] for event in events] == [f"0x{rank:x}" for rank in range(10, 50)]


def test_a_warnings_groups_are_each_lines_own() -> None:
    line = (
        "[15:12:{0}] n1:7:{0} [0] socket.cc:{0} NCCL WARN Call to connect to 10.0.0.2<{0}> failed : No route to host\n"
    )
    events = list(LogReader("".join(line.format(at) for at in range(10, 50))))
    warnings = [event for event in events if event.name == "prefix.warn"]
    assert [(event.groups["tid"], event.groups["line"]) for event in warnings] == [
        (str(at),) * 2 for at in range(10, 50)
    ]
    assert all(event.groups["msg"].endswith(" No route to host") for event in warnings)


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_it_and_texts_without_digits_are_their_own_shape(one: str, other: str) -> None:
    first, second = shape_of(one), shape_of(other)
    plain = not re.search("[0-9]", one + other)
    assert not plain or (first == second) == (one == other)


@given(st.lists(st.sampled_from([*WORDS, "P3P", "mlx4dv", "0x1 ", "x", " ", "7"]), max_size=8))
def test_texts_of_a_shape_that_hold_its_words_hold_them_at_the_same_places(parts: list[str]) -> None:
    text = "".join(parts)
    words = digit_words(shape_of(text))
    for at, digit in enumerate(text):
        other = text[:at] + "8" + text[at + 1 :]
        if digit.isdigit() and shape_of(other) == shape_of(text) and holds(text, words) and holds(other, words):
            assert [text.find(word) for word in WORDS] == [other.find(word) for word in WORDS]
