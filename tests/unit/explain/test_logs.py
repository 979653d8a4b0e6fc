"""Logs as seen lines: who spoke, what is kept, the old dialect, bounded memory."""

from __future__ import annotations

import pytest

from fabricdoc.explain.logs import OF_ONE, OF_WARNINGS, read_log
from fabricdoc.explain.seen import Material
from tests.excerpts import bare, log, version, warn

pytestmark = pytest.mark.unit


def read(text: str) -> Material:
    material = Material("a.log")
    read_log(material, [text])
    return material


def test_a_line_keeps_its_event_place_and_speaker() -> None:
    (seen,) = [
        one for one in read(log("alpha", "NET/IB : No device found.", gpu=3, pid=77)).seen if one.event == "ib.none"
    ]
    assert (seen.spot.file, seen.spot.line, seen.host, seen.process) == ("a.log", 1, "alpha", ("a.log", "alpha", 77, 3))
    assert seen.message == "NET/IB : No device found."


def test_a_warning_is_seen_as_itself_and_as_what_it_says() -> None:
    events = [one.event for one in read(log("alpha", warn("x.cc:1", "Bootstrap : no socket interface found"))).seen]
    assert events == ["prefix.warn", "boot.none"]


def test_variables_are_told_with_how_they_came() -> None:
    lines = ("NCCL_IB_TC set by environment to 106.", "NCCL_IB_HCA set to =mlx5_0", "NET/OFI Setting NCCL_X to 1")
    assert [(one.name, one.value, one.how) for one in read(log("alpha", *lines)).sets] == [
        ("NCCL_IB_TC", "106", "environment"),
        ("NCCL_IB_HCA", "=mlx5_0", "filter"),
        ("NCCL_X", "1", "plugin"),
    ]


def test_a_clock_is_remembered_for_lines_without_one() -> None:
    text = "[2026-11-30 10:00:00] " + log("alpha", version("2.28.9")) + log("alpha", "Using network IB")
    assert [one.time for one in read(text).seen] == ["2026-11-30 10:00:00"] * 2


def test_lines_that_repeat_are_kept_a_few_times() -> None:
    text = log("alpha", *["Using network IB"] * 500, *[warn("x.cc:1", f"new {at}") for at in range(500)])
    events = [one.event for one in read(text).seen]
    assert events.count("net.used") == OF_ONE
    assert events.count("prefix.warn") == OF_WARNINGS


@pytest.mark.parametrize("clock", ["", "[2026-11-30 10:{0:02d}:{1:02d}] ", "2026-11-30T10:{0:02d}:{1:02d}.1Z 0: "])
@pytest.mark.parametrize("function", ["", " (ncclIbRtrQp)"])
def test_a_storm_keeps_its_first_lines_verbatim_and_what_comes_late_in_it(clock: str, function: str) -> None:
    line = "{0}alpha:7:{1} [0] transport/net_ib.cc:99{2} NCCL WARN {3}\n"
    said = "NET/IB : Got completion from peer 10.0.0.2<{0}> with error 12, opcode 0, len 0, vendor err 129 (Recv)"
    lines = [
        line.format(
            clock.format(at // 60, at % 60), 8 + at % 3, function, said.format(at) if at != 900 else "Message x"
        )
        for at in range(1000)
    ]
    lines[700] = (
        lines[700]
        .replace("net_ib.cc:99", "net_ib.cc:100")
        .replace("NET/IB : Got", "Bootstrap : no socket interface found")
    )
    material = read("".join(lines))
    kept = [(one.event, one.spot.line) for one in material.seen]
    assert [at for event, at in kept if event == "prefix.warn"] == list(range(1, OF_WARNINGS + 1))
    assert [at for event, at in kept if event == "err.cqe.old"] == list(range(1, OF_ONE + 1))
    assert [at for event, at in kept if event == "boot.none"] == [701]
    assert all(one.spot.text + "\n" == lines[one.spot.line - 1] for one in material.seen)
    assert (material.lines, material.unknown_warnings) == (1000, 1)


def test_every_process_has_its_own_few() -> None:
    text = "".join(log("alpha", *["Using network IB"] * 50, gpu=gpu, pid=100 + gpu) for gpu in range(4))
    assert len(read(text).seen) == 4 * OF_ONE


def test_calls_by_the_thousand_are_left_out() -> None:
    line = "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"
    assert read(log("alpha", *[line] * 100)).seen == []


def test_the_old_dialect_is_read_and_quoted_as_it_stands() -> None:
    (seen,) = read("alpha:1:2 [0] INFO Ring 00 : 0[0] -> 1[1] via P2P/IPC\n").seen
    assert seen.event == "chan.local.old"
    assert seen.spot.text == "alpha:1:2 [0] INFO Ring 00 : 0[0] -> 1[1] via P2P/IPC"


@pytest.mark.parametrize(
    "front", ["", "[pod/w-0/main] ", "3: ", "[1,0]<stdout>:", "(Worker pid=7) ", "2026-03-01T10:11:00.12Z "]
)
def test_warnings_of_the_old_dialect_are_read_behind_any_front(front: str) -> None:
    line = f"{front}alpha:1:2 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out"
    (warning, *_rest) = read(f"{front}alpha:1:1 [0] INFO NET/Socket : 1 interfaces found\n{line}\n").seen
    assert (warning.event, warning.spot.line, warning.spot.text) == ("prefix.warn", 2, line)


@pytest.mark.parametrize("front", ["", "[rank1]: ", "(Worker pid=7, ip=10.1.0.6) "])
def test_the_last_error_that_a_framework_repeats_is_a_warning_quoted_as_it_stands(front: str) -> None:
    said = "Duplicate GPU detected : rank 7 and rank 0 both on CUDA device f000"
    text = f"{front}ncclInvalidUsage: invalid usage.\n{front}Last error:\n{front}{said}\n"
    (seen,) = [one for one in read(text).seen if one.event == "err.dupgpu"]
    assert (seen.level, seen.spot.line, seen.spot.text, seen.host) == ("WARN", 3, f"{front}{said}", "")


def test_colours_line_ends_and_clocks_hide_no_last_error() -> None:
    said = "Duplicate GPU detected : rank 7 and rank 0 both on CUDA device f000"
    for text in (
        f"Last error:\r\n{said}\r\n",
        f"\x1b[36mLast error:\x1b[0m\n\x1b[36m{said}\x1b[0m\n",
        f"2026-03-01T10:11:00.12Z Last error:\n2026-03-01T10:11:00.13Z {said}\n",
    ):
        (seen,) = [one for one in read(text).seen if one.event == "err.dupgpu"]
        assert seen.spot.text.endswith(said)


@pytest.mark.parametrize("after", ["Traceback (most recent call last):", "Exception raised from x", "", "  File"])
def test_what_is_no_message_of_nccl_is_none_behind_last_error(after: str) -> None:
    assert [one.event for one in read(f"ncclSystemError: x\nLast error:\n{after}\n").seen] == ["torch.result"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (log("alpha", "Using network IB"), ["NCCL log"]),
        ("INFO vLLM is using nccl==2.28.9\n", ["engine log"]),
        ("nothing of NCCL's\n", []),
    ],
)
def test_the_kind_of_a_log_is_told_by_its_lines(text: str, kinds: list[str]) -> None:
    assert read(text).kinds == kinds


def test_bare_version_lines_have_no_speaker() -> None:
    (seen,) = read(log("alpha", bare("NCCL version 2.19.3+cuda12.1"))).seen
    assert (seen.event, seen.host, seen.process) == ("version", "", None)


def test_a_thread_heard_long_ago_is_heard_again_and_its_process_keeps_its_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricdoc.explain.logs.MOST_PROCESSES", 3)
    text = "".join(f"alpha:7:{thread} [0] NCCL INFO Using network IB\n" for thread in range(40))
    material = read(text + text)
    assert len(material.seen) == OF_ONE and material.hosts == {"alpha": None}
