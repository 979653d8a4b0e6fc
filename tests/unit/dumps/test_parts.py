"""A text falls into outputs by commands, names and lines; mixed, cut, coloured or random text never fails."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps import read_text
from fabricdoc.dumps.formats import FORMATS
from fabricdoc.dumps.parts import hosts_of
from tests.unit.dumps.texts import FIXTURES, facts, fixture, tools

pytestmark = pytest.mark.unit

NAMES = sorted(path.name for path in FIXTURES.iterdir() if path.is_file() and path.name != "README")
TEXTS = {name: fixture(name) for name in NAMES}
SAMPLES = [text.splitlines() for text in TEXTS.values()]
WORDS = (
    "hca_id:",
    "GID[ 1]:",
    "link a/1 state",
    "NIC statistics:",
    "[{",
    '{"lldp":',
    "1: a: <UP> mtu",
    "$ ethtool -S",
    "/sys/",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_fixture_is_read_whole_without_its_name(name: str) -> None:
    lost = [part for part in read_text("x", TEXTS[name]).parts if not part.tool]
    assert [part.excerpt for part in lost] in ([], ["Sun Nov  1 10:00:00 2026"])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_do_not_matter(name: str, ending: str) -> None:
    text = TEXTS[name]
    assert read_text(name, text.replace("\n", ending)).told == read_text(name, text).told


@pytest.mark.parametrize("name", NAMES)
def test_colours_do_not_matter(name: str) -> None:
    text = TEXTS[name]
    coloured = "".join(
        f"\x1b[1;32m{line[:3]}\x1b[0m{line[3:]}\x1b[K\n" for line in text.replace("\x1b", " ").splitlines()
    )
    assert read_text(name, coloured).told == read_text(name, text.replace("\x1b", " ")).told


@pytest.mark.parametrize("name", [name for name in NAMES if "json" not in name])
def test_other_text_around_does_not_matter(name: str) -> None:
    around = f"Hello, here is mine:\n```\n{TEXTS[name]}```\nThanks!\n"
    whole = read_text(name, TEXTS[name])
    assert [(one.path, one.value) for one in read_text(name, around).told] == [
        (one.path, one.value) for one in whole.told
    ]
    assert tools(around)[0][0] == ""


def test_everything_in_one_file() -> None:
    named = ("lspci-vvv.txt", "ip-d-addr.txt", "ibv_devinfo-v.txt", "rdma-link.json", "show_gids.txt", "sysctl.txt")
    alone = {path: value for name in named for path, value in facts(TEXTS[name]).items()}
    together = facts("\n".join(TEXTS[name] for name in named))
    assert together == alone | {path: together[path] for path in alone if together[path] != alone[path]}
    assert set(together) == set(alone)


def test_unknown_lines_are_named_with_their_range() -> None:
    text = f"first\nsecond\n\nthird\n{TEXTS['rdma.txt']}\nlast words\n"
    found = read_text("x", text).unrecognised
    assert [(part.first, part.last, part.excerpt) for part in found] == [(1, 4, "first"), (11, 11, "last words")]


def test_a_command_of_another_tool_is_named() -> None:
    (part,) = read_text("x", "$ cat /etc/fstab\n/dev/sda1 / ext4\n").parts
    assert part.why == "output of `cat /etc/fstab`"


def test_parts_and_blank_lines_cover_the_text() -> None:
    for name, text in TEXTS.items():
        covered = {n for part in read_text(name, text).parts for n in range(part.first, part.last + 1)}
        blank = {n for n, line in enumerate(text.splitlines(), 1) if not line.strip()}
        commands = {n for n, line in enumerate(text.splitlines(), 1) if line.startswith(("root@", "$"))}
        assert covered | blank | commands == set(range(1, len(text.splitlines()) + 1)), name


def test_prompts_give_hosts_and_arguments() -> None:
    text = (
        "root@alpha:~# ethtool -S e0\nNIC statistics:\n     a_b: 1\n"
        "[me@beta ~]$ ethtool -S e0\nNIC statistics:\n     a_b: 2\n"
    )
    reading = read_text("x", text)
    assert list(hosts_of(reading)) == ["alpha", "beta"]
    assert [(part.host, part.argument) for part in reading.parts] == [("alpha", "e0"), ("beta", "e0")]


def test_cut_json_is_said() -> None:
    part, rest = read_text("x", TEXTS["rdma-link.json"][:200]).parts
    assert (part.tool, part.first, part.last, part.why) == ("rdma", 1, 1, "the JSON is cut off")
    assert (rest.tool, rest.first, rest.last) == ("", 2, 2)


def test_json_of_no_tool_is_one_part() -> None:
    text = '{\n  "a": {\n    "b": [1, 2]\n  }\n}\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP \n'
    assert tools(text) == [("", 1, 5), ("rdma", 6, 6)]


def test_log_lines_with_brackets_are_no_json() -> None:
    text = "[2026-01-01 10:00:00] a\n[0] b\n{x}\n[[[[\n"
    assert tools(text) == [("", 1, 4)]


def test_deep_nesting_and_long_lines_are_survived() -> None:
    for text in ("[" * 200_000, '{"a":' * 50_000, "x" * 1_000_000, "\x1b[" * 10_000, "a\x08" * 10_000, "[\n" * 5000):
        read_text("x", text)


@pytest.mark.parametrize("unit", [" ", "\t", "a ", "0:", "a_", "| ", "dev x ", " \t"])
@pytest.mark.parametrize("head", ["", "inet ", "GPU0 ", "a port 1 ", "max locked memory ("])
def test_a_long_line_of_one_thing_costs_little(head: str, unit: str) -> None:
    begun = time.process_time()
    read_text("x", f"{head}{unit * 60_000}\n" * 5)
    assert time.process_time() - begun < 5


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_random_text_is_read(text: str) -> None:
    for part in read_text(text[:20], text).parts:
        assert 1 <= part.first <= part.last


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=12), max_size=30), st.sampled_from(["\n", " ", "\t"]))
def test_text_of_known_words_is_read(words: list[str], between: str) -> None:
    read_text("ethtool-S-e0.txt", between.join(words))


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_mixed_cut_and_scribbled_outputs_are_read(seed: int, count: int) -> None:
    dice = random.Random(seed)
    rows = [dice.choice(dice.choice(SAMPLES)) for _ in range(count)]
    rows = [row[: dice.randrange(len(row) + 1)] if dice.random() < 0.3 else row for row in rows]
    rows = [
        row.replace(dice.choice(row or " "), dice.choice("0:[]{}\x00é"), 1) if dice.random() < 0.2 else row
        for row in rows
    ]
    reading = read_text("x", "\n".join(rows))
    last = 0
    for part in reading.parts:
        assert last < part.first <= part.last <= count
        last = part.last
        assert all(part.first <= one.line <= part.last for one in part.told)


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.tool)
@given(st.lists(st.sampled_from([row for rows in SAMPLES for row in rows]), max_size=12), st.text(max_size=8))
@settings(max_examples=25, deadline=None)
def test_every_reader_takes_any_lines(one: object, rows: list[str], argument: str) -> None:
    from fabricdoc.dumps.formats import Format, Line

    assert isinstance(one, Format)
    if rows:
        list(one.read([Line(number, row) for number, row in enumerate(rows, 1)], argument))
