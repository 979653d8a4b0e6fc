"""The table of log lines: whole, compiled, and its needles never hide a line that a regex would have matched."""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.events import SCOPES, EventTable, Rule, event_table, finder, load_rules
from fabricdoc.nccl.reader import LogReader, clean

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
LEVEL = re.compile(r" NCCL [A-Z]+(?: |$)")


def samples() -> list[tuple[str, str]]:
    with (LOGS / "lines.csv").open(newline="") as stream:
        return [(row["event"], row["line"]) for row in csv.DictReader(stream)]


def messages() -> list[str]:
    texts = {clean(line) for file in LOGS.glob("*.log") for line in file.open()} | {line for _, line in samples()}
    return sorted(text[match.end() :] for text in texts if (match := LEVEL.search(text)))


def brute_force(text: str) -> str | None:
    rules = [rule for scope in ("message", "any") for rule in load_rules() if rule.scope == scope]
    return next((rule.event for rule in rules if rule.regex.search(text)), None)


def dispatched(text: str) -> str | None:
    found = event_table().find_message(text)
    return found.event if found else None


def test_every_row_is_whole() -> None:
    text = files("fabricdoc.presets").joinpath("nccl", "events.csv").read_text(encoding="utf-8")
    assert {len(row) for row in csv.reader(text.splitlines())} == {6}, "a comma needs quotes"
    rules = load_rules()
    assert len({rule.event for rule in rules}) == len(rules) >= 90
    for rule in rules:
        assert rule.scope in SCOPES
        assert rule.meaning and rule.versions, rule.event
        assert bool(rule.needles) == (rule.scope != "part"), rule.event


def test_every_event_has_a_sample_line() -> None:
    untested = {rule.event for rule in load_rules() if rule.scope != "part"} - {event for event, _ in samples()}
    assert untested == {"prefix.info"}, "prefix.info is no event of its own: every INFO line has it"


@pytest.mark.parametrize(("event", "line"), samples(), ids=lambda value: str(value)[:40])
def test_a_line_gives_its_event(event: str, line: str) -> None:
    assert event in [found.name for found in LogReader(line)]


def test_needles_hide_nothing_in_the_recorded_logs() -> None:
    texts = messages()
    assert len(texts) > 600
    assert [
        (text, brute_force(text), dispatched(text)) for text in texts if brute_force(text) != dispatched(text)
    ] == []


@given(st.sampled_from(messages()), st.integers(0, 60), st.integers(0, 60))
def test_needles_hide_nothing_in_cut_messages(message: str, head: int, tail: int) -> None:
    text = message[head : len(message) - tail]
    assert brute_force(text) == dispatched(text)


def test_the_first_row_wins() -> None:
    table = EventTable(
        [
            Rule("a.first", "message", ("net",), re.compile(r"net (?P<x>\d+)"), "2", "m"),
            Rule("b.second", "message", ("net",), re.compile(r"net"), "2", "m"),
        ]
    )
    first, second = table.find_message("net 7"), table.find_message("net x")
    assert first is not None and (first.event, dict(first.groups)) == ("a.first", {"x": "7"})
    assert second is not None and second.event == "b.second"
    assert table.find_message("nothing") is None
    assert table.find_bare("net 7") is None


def test_a_regex_is_tried_only_behind_its_needle() -> None:
    find = finder([Rule("odd", "message", ("needle",), re.compile(r".*"), "2", "m")])
    assert find("hay") is None
    assert find("a needle") is not None


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


def test_a_negative_errno_is_no_part_of_the_error_text() -> None:
    found = event_table().find_message("Call to ibv_query_gid failed with error Unknown error -1 errno -1")
    assert found is not None
    assert dict(found.groups) == {"call": "ibv_query_gid", "err": "Unknown error -1", "errno": "-1"}
