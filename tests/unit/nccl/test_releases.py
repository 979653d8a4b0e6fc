"""Which NCCL wrote a log: named, or a range from the forms of its lines; contradictions are said."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from fabricdoc.nccl.events import load_rules
from fabricdoc.nccl.reader import read_events
from fabricdoc.nccl.releases import OLDEST, ReleaseFinder, Span
from fabricdoc.nccl.versions import parse_release

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
INFO = "n1:77:78 [0] NCCL INFO "
WARN = "n1:77:78 [0] a.cc:9 NCCL WARN "


def found(text: str) -> ReleaseFinder:
    finder = ReleaseFinder()
    for event in read_events(text):
        finder.take(event)
    return finder


def span(*lines: str) -> str:
    return str(found("\n".join(lines)).span())


@pytest.mark.parametrize("file", sorted(LOGS.glob("*.log")), ids=lambda file: file.name)
def test_without_its_version_line_a_real_log_still_fits_its_release(file: Path) -> None:
    text = file.read_text()
    if "NCCL version 2.28.9" not in text:
        pytest.skip("this fixture holds warnings alone")
    assert str(found(text).span()) == "2.28.9"
    finder = found("\n".join(line for line in text.split("\n") if "NCCL version" not in line))
    left = finder.span()
    assert left is not None and not finder.contradicted
    assert left.first <= (2, 28, 9) and (left.last is None or left.last >= (2, 28, 9))
    assert left.first >= (2, 28, 3), "a whole log leaves a narrow range"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((INFO + "Bootstrap : Using eth0:10.0.0.1<0>",), "2.4.8 to 2.23.4"),
        ((INFO + "Bootstrap: Using eth0:10.0.0.1<0>",), "2.24.3 or newer"),
        ((INFO + "Using non-device net plugin version 0",), "2.19.1 to 2.21.5"),
        (
            (INFO + "Using non-device net plugin version 0", INFO + "NET/Plugin : dlerror=x No plugin found (x)"),
            "2.19.1 to 2.20.5",
        ),
        ((INFO + "8192 Bytes -> Algo 1 proto 0 time 17.1",), "2.5.6 to 2.22.3"),
        ((INFO + "AllReduce: 8192 Bytes -> Algo 1 proto 0 time 17.1",), "2.23.4 to 2.23.4"),
        ((INFO + "Ring 00 : 1 -> 0 [receive] via NET/Socket/0",), "2.4.2 to 2.6.4"),
        ((WARN + "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",), "2.4.2 to 2.9.9"),
        ((INFO + "Using network IB",), "None"),
        (("INFO vLLM is using nccl==2.27.3", INFO + "Bootstrap: Using eth0:10.0.0.1<0>"), "2.27.3"),
        (("INFO vLLM is using nccl==2.27.3", INFO + "NCCL version 2.28.9+cuda13.0"), "2.28.9"),
        (("# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22903",), "2.29.3"),
        ((INFO + "NCCL version 2.28.9.dev1+cuda13.0",), "2.28.9.dev1"),
    ],
)
def test_forms_leave_a_range_and_names_decide(lines: tuple[str, ...], expected: str) -> None:
    assert span(*lines) == expected


def test_two_builds_in_one_log_contradict() -> None:
    finder = found(INFO + "Bootstrap : Using eth0:1.1.1.1<0>\n" + INFO + "Initialized NET plugin IB\n")
    assert finder.contradicted
    assert str(finder.span()) == "2.4.8 to 2.23.4", "the first sign is kept"


def test_ranges_meet() -> None:
    first, second = Span((2, 20, 3), (2, 28, 9)), Span((2, 24, 3))
    assert first.meets(second) == second.meets(first) == Span((2, 24, 3), (2, 28, 9))
    assert Span((2, 4, 2), (2, 9, 9)).meets(second) is None


def test_every_row_names_an_event_and_releases_in_order() -> None:
    text = files("fabricdoc.presets").joinpath("nccl", "releases.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    events = {rule.event for rule in load_rules() if rule.use != "quiet"}
    assert len(rows) > 50
    for row in rows:
        first, last = parse_release(row["first"]), parse_release(row["last"])
        assert row["event"] in events and first is not None and first >= OLDEST, row
        assert row["has"] and (last is None or last >= first), row
