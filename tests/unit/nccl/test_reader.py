"""The reader: prefixes and colours away, every line counted once, constant memory, and no text can break it."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.events import event_table, load_rules
from fabricdoc.nccl.reader import MAX_LINE, Event, LogReader, clean, read_events
from fabricdoc.nccl.speakers import front_of

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
CHOICE = "n1:77:77 [0] NCCL INFO AllReduce: {} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..1}}\n"
NETWORK = "n1:77:77 [0] NCCL INFO Using network IB"


@pytest.mark.parametrize(
    "front",
    [
        "",
        "[1,0]<stdout>:",
        "0: ",
        "node-01: ",
        "worker-1  | ",
        "(RayWorkerWrapper pid=123, ip=10.0.0.1) ",
        "[2026-11-29 15:12:36] ",
        "\x1b[36m(pid 7)\x1b[0m ",
    ],
)
def test_what_a_launcher_puts_in_front_is_no_part_of_the_event(front: str) -> None:
    (event,) = read_events(front + NETWORK + "\r\n")
    assert (event.name, dict(event.groups), event.level, event.line) == ("net.used", {"net": "IB"}, "INFO", 1)


def test_colour_codes_and_line_ends_go() -> None:
    assert clean("\x1b[1;31mred\x1b[0m \x1b]0;title\x07text\r\n") == "red text"
    assert len(clean("x" * 100_000)) == MAX_LINE
    assert len(clean("\x1b[0m" + "x" * 100_000)) == MAX_LINE


def test_a_warning_is_an_event_and_what_it_says_another() -> None:
    line = "[2026-11-29 15:06:18] n1:5:5 [0] plugin/net.cc:379 NCCL WARN Failed to initialize any NET plugin"
    warning, reason = read_events(line)
    assert (warning.name, warning.groups["file"], warning.groups["line"]) == ("prefix.warn", "plugin/net.cc", "379")
    assert warning.groups["msg"] == "Failed to initialize any NET plugin"
    assert (reason.name, reason.level, reason.text) == ("net.noneleft", "WARN", line)


def test_a_warning_of_an_unknown_form_is_still_a_warning() -> None:
    (warning,) = read_events("no prefix at all NCCL WARN something broke")
    assert (warning.name, dict(warning.groups)) == ("prefix.warn", {"msg": "something broke"})


def test_every_warning_of_the_recorded_logs_is_understood() -> None:
    """All WARN lines of 74 log sets of real NCCL, healthy and broken, without repeats."""
    reader = LogReader((LOGS / "warnings.log").read_text())
    names = [event.name for event in reader if event.name != "prefix.warn"]
    assert reader.unknown_warnings == reader.unknown == 0
    assert len(names) == reader.lines == 19


def test_a_message_that_speaks_of_nccl_is_one_message() -> None:
    text = "n1:1:1 [0] NCCL INFO NET/Plugin: Loaded net plugin NCCL RDMA Plugin v8 (v8)\n" + NETWORK + "\n"
    assert [(event.name, event.line) for event in read_events(text)] == [("plugin.loaded", 1), ("net.used", 2)]


@pytest.mark.parametrize("level", ["CALL", "TRACE", "ABORT"])
def test_other_levels_are_ncclss_and_unknown_text_is_counted(level: str) -> None:
    reader = LogReader(f"n1:1:1 NCCL {level} ncclAllReduce(1,2)\n")
    assert (list(reader), reader.unknown, reader.foreign) == ([], 1, 0)


def test_a_word_that_is_no_level_makes_no_nccl_line() -> None:
    reader = LogReader("we use NCCL everywhere\n0: NCCL version 2.19.3+cuda12.2\n")
    assert [event.name for event in reader] == ["version"]
    assert (reader.known, reader.foreign, reader.lines) == (1, 1, 2)


def test_the_version_line_of_older_releases_has_no_prefix() -> None:
    (event,) = read_events("NCCL version 2.19.3+cuda12.2\n")
    assert (event.name, event.groups["ver"], event.level) == ("version", "2.19.3", "")


def test_lines_of_other_programs_are_no_events() -> None:
    reader = LogReader("Using network IB\nChannel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n")
    assert list(reader) == []
    assert (reader.lines, reader.foreign, reader.unknown) == (2, 2, 0)


@pytest.mark.parametrize("file", sorted(LOGS.glob("*.log")), ids=lambda file: file.name)
def test_every_line_of_a_real_log_is_counted_once(file: Path) -> None:
    text = file.read_text()
    reader = LogReader(text)
    events = list(reader)
    assert reader.lines == text.count("\n") + (not text.endswith("\n"))
    assert reader.known + reader.unknown + reader.foreign == reader.lines
    assert reader.known > 15 and len(events) > 15
    lines = text.split("\n")
    assert all(event.text == lines[event.line - 1] for event in events)


def test_a_list_of_lines_and_a_string_give_the_same() -> None:
    text = (LOGS / "ib_two.rank0.log").read_text()
    assert list(read_events(text)) == list(read_events(text.splitlines(keepends=True)))


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    reader = LogReader(text)
    events = list(reader)
    assert reader.known + reader.unknown + reader.foreign == reader.lines
    assert all(len(event.text) <= MAX_LINE for event in events)


WORDS = [
    "n1:1:1 [0] NCCL INFO ",
    "n1:1:1 [0] a.cc:1 NCCL WARN ",
    " set by environment to ",
    "NCCL_IB_HCA",
    " Bytes -> Algo ",
    "NET/IB : Using",
    "[0]x:1/RoCE",
    "\x1b[",
    "\x1b]",
    "9" * 40,
    "\n",
    "٣",
    "\x00",
    "a" * 200,
]


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_no_mixture_of_its_own_words_breaks_it(words: list[str]) -> None:
    reader = LogReader("".join(words))
    for event in reader:
        assert event.name and all(isinstance(value, str) for value in event.groups.values())


@pytest.mark.long
@pytest.mark.parametrize("filler", ["0", "a", "a/", "NET/", ":", "(", " [0]x", "IbDev 0 Port 1 qpn 1 mtu 3 "])
def test_no_hostile_line_takes_long(filler: str) -> None:
    """Every regex behind its needle on a line of filler: none may try for long (quadratic ones took 1.5 s)."""
    worst = 0.0
    for needle in sorted({"".join(needles).replace("$", "") for rule in load_rules() for needles in rule.needles}):
        for line in (f"n:1:1 [0] NCCL INFO {needle}{filler * 4096}", f"{(filler * 4096)[:3800]} NCCL WARN {needle}"):
            started = time.perf_counter()
            list(read_events(line))
            worst = max(worst, time.perf_counter() - started)
    assert worst < 0.7


def stream(count: int) -> Iterator[str]:
    for number in range(count):
        yield CHOICE.format(number)


@pytest.mark.long
def test_memory_does_not_grow_with_the_log() -> None:
    for _ in read_events(stream(600)):
        pass
    tracemalloc.start()
    try:
        for _ in read_events(stream(8000)):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000


def test_thousands_of_equal_lines_cost_milliseconds() -> None:
    text = CHOICE.format(8) * 5000
    started = time.perf_counter()
    assert sum(1 for _ in read_events(text)) == 5000
    assert time.perf_counter() - started < 1.0, "about 40 ms on a slow core"


@pytest.mark.long
def test_a_line_of_many_marks_is_no_quadratic_work() -> None:
    text = ("A" * 200 + " NCCL ") * 4000 + "\n" + "a:1:2 [0] NCCL INFO Using network IB\n"
    began = time.process_time()
    events = [event.name for event in read_events(text)]
    assert time.process_time() - began < 5
    assert events[-1] == "net.used"


def heard_all(text: str, enough: int) -> tuple[list[Event], dict[str, dict[str, int]], LogReader]:
    """Events that a log hands on to one who has heard enough of a front, and what was counted."""
    heard: dict[str, dict[str, int]] = {}
    reader = LogReader(text, heard=heard, enough=enough)
    kept = []
    for event in reader:
        kept.append(event)
        counts = heard.setdefault(front_of(event.head), {}) if event.body else {}
        counts[event.name] = counts.get(event.name, 0) + 1
    return kept, heard, reader


@pytest.mark.parametrize("clock", ["", "2026-11-29T15:12:36.123Z "])
def test_what_was_heard_enough_is_counted_and_the_rest_is_the_same(clock: str) -> None:
    text = "".join(clock + line + "\n" for line in (LOGS / "ib_two.rank0.log").read_text().splitlines() * 3)
    plain = LogReader(text)
    events = list(plain)
    kept, heard, reader = heard_all(text, enough=2)
    assert 0 < len(kept) < len(events)
    seen: dict[tuple[str, str], int] = {}
    expected = []
    for event in events:
        key = front_of(event.head), event.name
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= 2 or event.level != "INFO":
            expected.append(event)
    assert kept == expected
    counted = {(front, name): count for front, counts in heard.items() for name, count in counts.items()}
    assert counted == {key: count for key, count in seen.items() if key in counted}
    assert vars(plain).items() >= {name: getattr(reader, name) for name in ("lines", "known", "unknown")}.items()
    assert (reader.foreign, reader.unknown_warnings) == (plain.foreign, plain.unknown_warnings)


STORM = "[2026-11-29 15:{0:02d}:{1:02d}] n1:5:6 [0] {3}NCCL WARN {2}\n"
SAID = (
    "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, "
    "local GID index {0}, local GID ::ffff:10.0.0.1, remote GID ::ffff:10.0.0.{0}",
    "NET/IB : Got completion from peer 10.0.0.2<{0}> with error 12, opcode 0, len {0}, vendor err 129 (Recv)",
    "nothing that anybody knows, {0} times at 0x7f{0:x}",
)


@pytest.mark.parametrize("place", ["transport/net_ib.cc:2268 ", "misc/socket.cc:72 (socketTryAccept) ", ""])
@pytest.mark.parametrize("said", SAID)
def test_a_storm_of_changing_warnings_is_counted_like_lines_without_a_warning(said: str, place: str) -> None:
    lines = [STORM.format(at // 60 % 60, at % 60, said.format(at), place) for at in range(300)]
    kept: list[Event] = []
    heard: dict[str, dict[str, int]] = {}
    reader = LogReader("".join(lines), heard=heard, enough=3, enough_warnings=5)
    for event in reader:
        kept.append(event)
        counts = heard.setdefault(front_of(event.head), {})
        counts[event.name] = counts.get(event.name, 0) + 1
    plain = LogReader("".join(lines))
    events = list(plain)
    assert kept == [event for event in events if event.line <= 5], "no line is handed on in part"
    (counts,) = heard.values()
    assert counts == dict.fromkeys({event.name for event in events}, 300)
    assert (
        (reader.known, reader.unknown_warnings)
        == (plain.known, plain.unknown_warnings)
        == (300, 300 * (said == SAID[2]))
    )
    assert reader.spoke == STORM.format(4, 59, "", place).partition(" NCCL ")[0]


def test_a_new_complaint_in_the_midst_of_a_storm_is_handed_on() -> None:
    lines = [STORM.format(1, at % 60, SAID[0].format(at), "a.cc:1 ") for at in range(100)]
    lines[60] = STORM.format(2, 2, SAID[1].format(7), "a.cc:1 ")
    heard: dict[str, dict[str, int]] = {}
    found = []
    for event in LogReader("".join(lines), heard=heard):
        found.append((event.line, event.name))
        counts = heard.setdefault(front_of(event.head), {})
        counts[event.name] = counts.get(event.name, 0) + 1
    assert found == [(1, "prefix.warn"), (1, "err.modify_qp"), (61, "prefix.warn"), (61, "err.cqe.old")]


def test_lines_of_other_programs_are_counted_too_when_heard_enough() -> None:
    text = "".join(f"[rank{at}]: ncclSystemError: 0x{at:x}\n" for at in range(50))
    heard = {"": {"torch.result": 0}}
    found = []
    for event in LogReader(text, heard=heard, enough=4):
        found.append(event.line)
        heard[""][event.name] += 1
    assert found == [1, 2, 3, 4] and heard[""] == {"torch.result": 50}


def test_who_spoke_last_is_told_when_its_line_was_only_counted() -> None:
    heard = {"n1:77:77 [0]": {"net.used": 1}}
    reader = LogReader(f"0: {NETWORK}\nNCCL version 2.19.3+cuda12.2\n", heard=heard)
    assert [event.name for event in reader] == ["version"]
    assert (reader.spoke, heard["n1:77:77 [0]"]) == ("0: n1:77:77 [0]", {"net.used": 2})


def test_events_that_are_not_wanted_are_known_all_the_same() -> None:
    text = CHOICE.format(1024) + NETWORK + "\n" + CHOICE.format(2048)
    reader = LogReader(text, without={"tune.op"})
    assert [event.name for event in reader] == ["net.used"]
    assert (reader.known, reader.unknown, reader.foreign, reader.lines) == (3, 0, 0, 3)


CALLS = [
    "AllReduce: opCount 1f sendbuff 0x7f0 recvbuff 0x7f0 count 8 datatype 9 op 0 root 0 comm 0x1 [nranks=2] stream 0x2",
    "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
    "AllReduce: 1024 Bytes -> Algo 1 proto 2 time 12.5",
    "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1} cgaClusterSize 2",
    "Broadcast: opCount 0 sendbuff (nil)",
    "AllGather: nothing that is known",
    "AllReduce:",
]


@given(
    st.lists(st.sampled_from([*CALLS, *(part for call in CALLS for part in call.split(": "))]), min_size=1, max_size=3)
)
def test_the_short_way_for_calls_says_what_the_table_says(parts: list[str]) -> None:
    message = ": ".join(parts)
    found = event_table().find_message(message)
    names = [event.name for event in read_events(f"n1:1:1 [0] NCCL INFO {message}\n")]
    assert names == ([found.event] if found and not found.silent else [])


def test_a_storm_of_one_warning_is_read_as_its_first_line() -> None:
    line = "n1:5:5 [0] plugin/net.cc:379 NCCL WARN Failed to initialize any NET plugin\n"
    first, *others = [
        [(event.name, dict(event.groups)) for event in events]
        for events in zip(*[read_events(line * 50)] * 2, strict=True)
    ]
    assert len(others) == 49 and all(other == first for other in others)


def test_a_second_message_at_the_very_beginning_of_a_first_one_is_read() -> None:
    (event,) = read_events("x NCCL n1:77:77 [0] NCCL INFO Using network IB\n")
    assert (event.name, event.head) == ("net.used", "n1:77:77 [0]")


@given(
    st.lists(
        st.sampled_from(["a server's line", "", "NCCL version 2.19.3", "Watchdog caught", NETWORK, "nccl"]), max_size=9
    )
)
def test_other_lines_are_counted_one_by_one_wherever_they_stand(lines: list[str]) -> None:
    reader = LogReader("".join(line + "\n" for line in lines))
    alone = [LogReader(line + "\n") for line in lines]
    names = [event.name for event in reader]
    assert names == [event.name for one in alone for event in one]
    assert reader.foreign == sum(one.foreign for one in alone) and reader.lines == len(lines)
