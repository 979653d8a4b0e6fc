"""What is left open: failures that no rule explains, starts that are not told to end; and what is nothing wrong."""

from __future__ import annotations

import pytest

from fabricdoc.explain.undecided import MOST_COLLECT, STOPPED
from tests.excerpts import log, told, using, version, warn

pytestmark = pytest.mark.unit

IB = "Using network IB"
INIT = "ncclCommInitRank comm 0x7f01 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 18000 commId 0xa6 - Init {}"
ALONE = {
    "torch": "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:514, unhandled system error, NCCL version 2.4.8",
    "torch, usage": "DistBackendError: NCCL error in: ../NCCLUtils.hpp:275, invalid usage, NCCL version 2.20.5",
    "torch, by number": "RuntimeError: NCCL Error 2: unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "a signal": "[mb1:00009] Signal: Segmentation fault (11)",
    "a crash under UCX": "[mb1:9:0:9] Caught signal 11 (Segmentation fault: address not mapped at address 0x18)",
}


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in ALONE.items()])
def test_a_failure_without_a_cause_is_left_open(line: str) -> None:
    document = told({"a.log": log("alpha", version("2.21.5"), using("mlx5_0"), IB) + line + "\n"})
    assert document.verdict == "unknown"
    assert document.findings[0].evidence[0].text == line
    assert 0 < len(document.collect) <= MOST_COLLECT


@pytest.mark.parametrize("line", ["ncclGetUniqueId called, NCCL version 2.20.5", "handler for segmentation faults set"])
def test_words_that_only_sound_like_a_failure_leave_nothing_open(line: str) -> None:
    assert told({"a.log": log("alpha", version("2.21.5"), IB) + line + "\n"}).verdict == "none"


def test_a_start_without_an_end_is_left_open() -> None:
    document = told({"a.log": log("alpha", version("2.30.7"), using("rocep1s0f1"), IB, INIT.format("START"))})
    assert document.verdict == "unknown"
    assert document.findings[0].cause == STOPPED
    assert document.findings[0].evidence[0].text.endswith("Init START")


@pytest.mark.parametrize(
    "further",
    [
        INIT.format("COMPLETE"),
        "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0",
        "Connected all rings, use ring PXN 0 GDR 0",
        "comm 0x7f01 rank 0 nranks 2 cudaDev 0 busId 18000 - Destroy COMPLETE",
    ],
)
def test_a_start_that_went_on_is_nothing_wrong(further: str) -> None:
    assert told({"a.log": log("alpha", version("2.30.7"), IB, INIT.format("START"), further)}).verdict == "none"


def test_what_failed_comes_before_a_start_without_an_end() -> None:
    said = warn("misc/strange.cc:1", "a message that nobody knows")
    document = told({"a.log": log("alpha", version("2.30.7"), IB, INIT.format("START"), said)})
    assert document.verdict == "unknown"
    assert "a message that nobody knows" in document.findings[0].evidence[0].text


PROSE = "# Notes\n\n" + "The cluster was fine on Friday.\n" * 60 + "  GLOO_SOCKET_IFNAME=enp1s0f1np1 was what we set.\n"


@pytest.mark.parametrize("text", ["", "hello\nworld\n", PROSE])
def test_where_nothing_is_known_nothing_is_called_right(text: str) -> None:
    document = told({"notes.md": text})
    assert document.verdict == "unknown"
    assert "Nothing in these files is known" in document.findings[0].cause
    assert document.collect


@pytest.mark.parametrize(
    "files",
    [
        {"prod.env": "NCCL_DEBUG=WARN\n"},
        {"run.sh": "#!/bin/sh\n" + "echo more\n" * 60 + "export NCCL_DEBUG=WARN\nexport NCCL_IB_HCA=mlx5_0\n" * 3},
        {"post.txt": "My settings:\n\nexport NCCL_DEBUG=WARN\n\nwhat else?\n"},
    ],
)
def test_settings_alone_that_hold_nothing_wrong_are_right(files: dict[str, str]) -> None:
    assert told(files).verdict == "none"
