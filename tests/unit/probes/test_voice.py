"""A worker's words: ones its agent knows, whole through any pipe, with times that add up."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import pytest

from fabricdoc.probes import voice as voices
from fabricdoc.probes.events import parse_event
from fabricdoc.probes.voice import Voice, one_line

pytestmark = pytest.mark.unit

SHAPE = {"op": "all_reduce", "size": 8, "dtype": "bfloat16", "in_place": True}


def spoken(read_fd: int, write_fd: int) -> list[dict[str, Any]]:
    os.close(write_fd)
    said = b""
    while chunk := os.read(read_fd, 65536):
        said += chunk
    os.close(read_fd)
    return [parse_event(line) for line in said.splitlines()]


def test_every_word_of_a_worker_is_one_its_agent_knows() -> None:
    read_fd, write_fd = os.pipe()
    voice = Voice(write_fd, time.monotonic() - 1)
    voice.phase("rendezvous")
    voice.say("store", port=40000)
    voice.phase("init")
    voice.phase("measure", "all_reduce 8 B bfloat16, eager")
    voice.say("cell", view="eager", **SHAPE, samples=[1.5], replays=[], correct=True, wrong=0)
    voice.say("skew", view="eager", **SHAPE, waits=[0.0], gated=[1.25])
    voice.say("soak", **SHAPE, calls=500, wrong=1)
    voice.end("failed", "why")
    events = spoken(read_fd, write_fd)
    names = ["phase", "store", "phase", "phase", "cell", "skew", "soak", "end"]
    assert [event["event"] for event in events] == names
    assert 1 <= events[0]["at_s"] <= events[3]["at_s"] < 60
    assert events[3]["what"] == "all_reduce 8 B bfloat16, eager"
    assert set(events[-1]["timings_s"]) == {"fork", "rendezvous", "init", "measure"}
    assert events[-1]["timings_s"]["fork"] >= 1


def test_a_phase_entered_again_adds_to_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 3.0, 4.0, 8.0])
    monkeypatch.setattr(voices.time, "monotonic", lambda: next(clock))
    read_fd, write_fd = os.pipe()
    voice = Voice(write_fd, 0.0)
    voice.phase("capture")
    voice.phase("measure")
    voice.phase("capture")
    voice.end("ok", "")
    assert spoken(read_fd, write_fd)[-1]["timings_s"] == {"fork": 1.0, "capture": 6.0, "measure": 1.0}


def test_what_is_done_is_said_in_bounds() -> None:
    read_fd, write_fd = os.pipe()
    Voice(write_fd, 0.0).phase("measure", "x" * 10_000)
    assert spoken(read_fd, write_fd)[0]["what"] == "x" * 100


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (RuntimeError("Connection closed by peer\nat somewhere"), "RuntimeError: Connection closed by peer"),
        (ValueError("\n  \n"), "ValueError: no message"),
        (
            RuntimeError(
                "NCCL error in: x.cpp:94\nncclSystemError: a call failed.\nLast error:\n socketStartConnect: timed out"
            ),
            "RuntimeError: NCCL error in: x.cpp:94; last error: socketStartConnect: timed out",
        ),
        (RuntimeError("Last error:"), "RuntimeError: Last error:"),
    ],
)
def test_a_reason_is_one_line(problem: Exception, line: str) -> None:
    assert one_line(problem) == line


def test_a_reason_is_bounded() -> None:
    assert len(one_line(RuntimeError("x" * 10_000))) == 500


def test_a_phase_that_was_never_entered_has_no_time() -> None:
    read_fd, write_fd = os.pipe()
    voice = Voice(write_fd, time.monotonic())
    voice.end("ok", "")
    (end,) = spoken(read_fd, write_fd)
    assert set(end["timings_s"]) == {"fork"} and end["reason"] == ""


def test_a_long_word_goes_out_whole_through_a_small_pipe() -> None:
    read_fd, write_fd = os.pipe()
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.extend(iter(lambda: os.read(read_fd, 4096), b"")))
    reader.start()
    Voice(write_fd, 0.0).say("cell", samples=[1.25] * 100_000)
    os.close(write_fd)
    reader.join(20)
    os.close(read_fd)
    assert json.loads(b"".join(said))["samples"] == [1.25] * 100_000


def test_an_agent_that_is_gone_is_an_error_of_the_pipe() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with pytest.raises(OSError):
        Voice(write_fd, 0.0).say("phase", phase="init", at_s=0.0)
    os.close(write_fd)
