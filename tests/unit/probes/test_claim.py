"""The claim on a node: one holder, named to others, free again when its process is gone however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.probes.claim import Claim, holder

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys, time
from fabricdoc.probes.claim import Claim
claim = Claim("\\0" + sys.argv[1])
print(claim.take(0), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name() -> str:
    return f"fabricdoc-test-{uuid.uuid4().hex}"


@pytest.fixture
def other(name: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the name."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "0"
    yield process
    process.kill()
    process.wait(10)


def test_a_free_node_is_ours_and_stays_so(name: str) -> None:
    claim = Claim("\0" + name)
    assert claim.take(0) == 0
    assert claim.take(0) == 0
    claim.let_go()
    assert Claim("\0" + name).take(0) == 0


def test_the_other_agent_is_named(name: str, other: subprocess.Popen[str]) -> None:
    assert Claim("\0" + name).take(0) == other.pid
    assert holder("\0" + name) == other.pid


def test_many_who_ask_get_an_answer_each(name: str, other: subprocess.Popen[str]) -> None:
    """The holder accepts nobody: a full queue must neither block nor be taken for a free node."""
    answers = [Claim("\0" + name).take(0) for _ in range(30)]
    assert set(answers) <= {other.pid, -1}
    assert answers[0] == other.pid


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_holder_frees_the_node(name: str, other: subprocess.Popen[str], blow: signal.Signals) -> None:
    os.kill(other.pid, blow)
    other.wait(10)
    assert Claim("\0" + name).take(0) == 0


def test_a_holder_about_to_end_is_waited_for(name: str, other: subprocess.Popen[str]) -> None:
    assert other.stdin is not None
    other.stdin.close()
    began = time.monotonic()
    assert Claim("\0" + name).take(10) == 0
    assert time.monotonic() - began < 10


def test_a_name_that_cannot_be_bound_is_no_reason_to_refuse() -> None:
    assert Claim("/nonexistent/folder/socket").take(0) == 0


def test_nobody_holds_a_free_name(name: str) -> None:
    assert holder("\0" + name) == -1
