"""The table of log lines: whole, compiled, and its needles never hide a line that a regex would have matched."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.events import SCOPES, USES, EventTable, Finder, Rule, event_table, kind_of, load_rules
from fabricdoc.nccl.reader import LogReader, clean

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
LEVEL = re.compile(r" NCCL [A-Z]+(?: |$)")
QUIET = {rule.event for rule in load_rules() if rule.use == "quiet"}
LOOSE = {rule.event for rule in load_rules() if "(?P<what>.*)" in rule.regex.pattern} | {
    *(
        "plugin.detail",
        "ib.detail.resiliency",
        "mem.detail",
        "conn.rings",
        "env.str",
        "env.notice",
        "tune.limits",
        "err.call",
    )
}
"""Rows that take any message with one of their words: the last resort, behind those that say more."""


def samples() -> list[tuple[str, str]]:
    with (LOGS / "lines.csv").open(newline="") as stream:
        return [(row["event"], row["line"]) for row in csv.DictReader(stream)]


def messages() -> list[str]:
    texts = {clean(line) for file in LOGS.glob("*.log") for line in file.open()} | {line for _, line in samples()}
    return sorted(text[match.end() :] for text in texts if (match := LEVEL.search(text)))


def brute_force(text: str) -> str | None:
    """The first row whose regex matches, among those that the message's first word leaves, needles put aside."""
    word = text[:64].lstrip(" ").partition(" ")[0]
    rules = [rule for rule in load_rules() if rule.scope in ("message", "any")]
    named = [rule for rule in rules if word in rule.first] or [rule for rule in rules if kind_of(word) in rule.first]
    general = [rule for rule in rules if "*" in rule.first]
    tried = [rule for rule in (*named, *general) if rule.event not in LOOSE]
    return next((rule.event for rule in tried if rule.regex.search(text)), None)


def dispatched(text: str) -> str | None:
    found = event_table().find_message(text)
    return found.event if found else None


def test_every_row_is_whole() -> None:
    text = files("fabricdoc.presets").joinpath("nccl", "events.csv").read_text(encoding="utf-8")
    assert {len(row) for row in csv.reader(text.splitlines())} == {8}, "a comma needs quotes"
    rules = load_rules()
    assert len({rule.event for rule in rules}) == len(rules) >= 160
    for rule in rules:
        assert rule.scope in SCOPES and rule.use in USES
        assert rule.meaning and rule.versions, rule.event
        assert bool(rule.needles) == (rule.scope != "part"), rule.event
        assert all(needle for needles in rule.needles for needle in needles), rule.event
        assert bool(rule.first) == (rule.scope in ("message", "any")), rule.event


def test_every_event_has_a_sample_line() -> None:
    untested = {rule.event for rule in load_rules() if rule.scope != "part"} - {event for event, _ in samples()}
    assert untested == {"prefix.info"}, "prefix.info is no event of its own: every INFO line has it"


@pytest.mark.parametrize(("event", "line"), samples(), ids=lambda value: str(value)[:40])
def test_a_line_gives_its_event(event: str, line: str) -> None:
    if event in QUIET:
        assert dispatched(line[LEVEL.search(line).end() :]) == event  # type: ignore[union-attr]
        reader = LogReader(line)
        assert (list(reader), reader.known) == ([], 1)
    else:
        assert event in [found.name for found in LogReader(line)]


def test_one_regex_a_line_is_enough() -> None:
    """The first word and the needles pick the row: no line of any real log needs a second regex."""
    find = EventTable(load_rules()).find_message
    for text in messages():
        before = find.tried
        found = find(text)
        assert find.tried - before <= 1 or found is None, text


def test_needles_hide_nothing_in_the_recorded_logs() -> None:
    texts = messages()
    assert len(texts) > 600
    wrong = [
        (text, brute_force(text), dispatched(text))
        for text in texts
        if brute_force(text) not in (None, dispatched(text))
    ]
    assert wrong == []


@given(st.sampled_from(messages()), st.integers(0, 60))
def test_a_cut_message_is_never_another_event_of_its_first_word(message: str, tail: int) -> None:
    """A line cut short is what it was, a looser row of the same family, or unknown: never a guess at something else."""
    whole, cut = dispatched(message), dispatched(message[: len(message) - tail])
    same_family = bool(cut and whole) and str(cut).split(".")[0] == str(whole).split(".")[0]
    assert cut in (None, whole) or same_family or cut in LOOSE, (message, cut)


def test_the_first_row_wins_within_a_first_word_and_general_rows_come_last() -> None:
    table = EventTable(
        [
            Rule("general", "message", ("*",), (("net",),), re.compile(r"net"), "2", "m"),
            Rule("a.first", "message", ("net",), (("net",),), re.compile(r"net (?P<x>\d+)"), "2", "m"),
            Rule("b.second", "message", ("net",), (("net",),), re.compile(r"net"), "2", "m"),
        ]
    )
    first, second, third = table.find_message("net 7"), table.find_message("net x"), table.find_message("a net")
    assert first is not None and (first.event, dict(first.groups)) == ("a.first", {"x": "7"})
    assert second is not None and second.event == "b.second"
    assert third is not None and third.event == "general"
    assert table.find_message("nothing") is None
    assert table.find_bare("net 7") is None


@pytest.mark.parametrize(
    ("text", "hit"),
    [
        ("a hay", False),
        ("a needle", False),
        ("needle of a stack", True),
        ("stack needle", True),
        ("the end", True),
        ("end the", False),
    ],
)
def test_a_regex_is_tried_only_behind_its_needles(text: str, hit: bool) -> None:
    needles = (("needle", "stack"), ("end$",))
    find = Finder([Rule("odd", "message", ("*",), needles, re.compile(r".*"), "2", "m")])
    assert (find(text) is not None) == hit
    assert find.tried == int(hit)


@pytest.mark.parametrize(
    ("word", "kind"), [("NCCL_IB_HCA", "NCCL_"), ("16", "#"), ("Channel", ""), ("", ""), ("\u0663", "#"), ("-1", "")]
)
def test_what_a_first_word_stands_for(word: str, kind: str) -> None:
    assert kind_of(word) == kind


def test_found_groups_cannot_be_changed() -> None:
    found = event_table().find_message("Using network IB")
    assert found is not None and dict(found.groups) == {"net": "IB"}
    with pytest.raises(TypeError):
        found.groups["net"] = "Socket"  # type: ignore[index]


def test_parts_lists_every_device() -> None:
    text = " [0]rocep1s0f0:1/RoCE [1]mlx5_1+mlx5_2:1:0:3/IB"
    parts = event_table().parts("ib.dev", text)
    assert [(part["i"], part["name"], part["link"]) for part in parts] == [
        ("0", "rocep1s0f0", "RoCE"),
        ("1", "mlx5_1+mlx5_2", "IB"),
    ]
    assert parts[1]["rail"] == "0" and parts[1]["plane"] == "3"


def test_members_of_the_fused_form_of_2_20_are_devices() -> None:
    found = event_table().find_message(
        "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [1]mlx5_2:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
    )
    assert found is not None and found.event == "ib.using"
    assert [part["name"] for part in event_table().parts("ib.dev", found.groups["devs"])] == [
        "mlx5_0",
        "mlx5_1",
        "mlx5_2",
    ]


def test_a_negative_errno_is_no_part_of_the_error_text() -> None:
    found = event_table().find_message("Call to ibv_query_gid failed with error Unknown error -1 errno -1")
    assert found is not None
    assert dict(found.groups) == {"call": "ibv_query_gid", "err": "Unknown error -1", "errno": "-1"}


def test_a_string_variable_may_end_in_a_full_stop() -> None:
    found = event_table().find_message("NCCL_TOPO_FILE set by environment to /etc/x.")
    assert found is not None and (found.event, found.groups["value"]) == ("env.str", "/etc/x.")


def test_a_call_is_told_by_its_needles_and_its_groups_come_when_asked() -> None:
    for event, line in samples():
        if event == "coll.call":
            (found,) = LogReader(line)
            assert (found.groups["func"], found.groups["n"], found.groups["ranks"]) == ("AllReduce", "5120", "2")
    (cut,) = LogReader("n1:1:1 [0] NCCL INFO AllReduce: opCount 1 sendbuff 0x1 recvb [nranks=2]")
    assert cut.name == "coll.call" and dict(cut.groups) == {}
