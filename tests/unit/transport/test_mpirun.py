"""mpirun: the exact words for it, what it is not asked for, and a conversation through one that is no pipe."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.transport import NodeSpec, ask, open_channels, parse_node, read_hostfile
from fabricdoc.transport.channel import Channel
from fabricdoc.transport.config import Config
from fabricdoc.transport.loader import tap_argv
from fabricdoc.transport.mpirun import WINDOW, last_words, mpirun_argv
from fabricdoc.transport.targets import command_for, ender_for, reached_by
from tests.unit.transport.clients import Clients

pytestmark = pytest.mark.unit

NODE = NodeSpec("n", "mpirun:node02", env={"B": "x y", "A": "1,2"})
WORDS = ("mpirun", "-n", "1", "--host", "node02", "--wdir", "/", "--bind-to", "none")

# as Open MPI 5.0.11: each read of at most 4,096 bytes is passed on, what lies behind it is lost, and so is the end
LOSSY = """#!/bin/sh
printf '%s\\0' "$@" >>{folder}/mpirun.words
printf '\\n' >>{folder}/mpirun.words
shift 8
exec {python} {folder}/lossy.py "$@"
"""
LOSSY_PY = """import os, subprocess, sys, threading
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True)
def feed():
    while part := os.read(0, 65536):
        child.stdin.write(part[:4096])
        child.stdin.flush()
threading.Thread(target=feed, daemon=True).start()
status = child.wait()
os._exit(status if status >= 0 else 128 - status)
"""


def test_the_words_for_mpirun() -> None:
    assert tuple(mpirun_argv(NODE, ["hostname"])) == (*WORDS, "env", "A=1,2", "B=x y", "hostname")
    plain = NodeSpec("n", "mpirun:node02")
    command = command_for(plain, lambda python: [python, "-V"])
    assert (command.argv, command.window, command.last) == ((*WORDS, "python3", "-V"), 0, b"")
    assert (command.kind, command.over_ssh, reached_by(plain)) == ("mpirun", False, "mpirun")


def test_a_program_that_reads_its_stdin_stands_behind_the_tap() -> None:
    command = command_for(NODE, lambda python: [python, "-I", "-c", "x"], label="abcd")
    words = tap_argv("python3", "abcd", ["python3", "-I", "-c", "x"])
    assert command.argv == (*WORDS, "env", "A=1,2", "B=x y", *words)
    assert (command.window, command.last) == (WINDOW, last_words("abcd"))
    ender = ender_for(NODE, lambda python: [python, "-c", "y"], module="scan", label="abcd")
    assert ender.argv[-3:] == ("python3", "-c", "y")


def test_the_agent_in_a_container_stands_behind_the_tap_too() -> None:
    node = NodeSpec("n", "mpirun:node02", container="vllm")
    command = command_for(node, lambda python: [python, "x"], module="agent", label="abcd")
    assert command.kind == "box"
    assert command.argv[: len(WORDS)] == WORDS
    assert (command.window, command.last, command.argv[-5:-3]) == (WINDOW, last_words("abcd"), ("in", "vllm"))


@pytest.mark.parametrize("target", ["mpirun:", "mpirun:a b", "mpirun:-n", "mpirun:a,b", "mpirun:a:2", "mpirun:$x"])
def test_a_word_that_mpirun_could_misread_never_gets_there(target: str) -> None:
    with pytest.raises(UsageError, match="after mpirun: comes a node's name"):
        NodeSpec("n", target)


def test_names_users_and_hostfiles(tmp_path: Path) -> None:
    assert (parse_node("mpirun:node01").name, parse_node("x=mpirun:node01").name) == ("node01", "x")
    with pytest.raises(UsageError, match="only for nodes reached by ssh"):
        NodeSpec("n", "mpirun:a", user="me")
    file = tmp_path / "hosts"
    file.write_text("mpirun:node[01-02] slots=8\n")
    assert [node.target for node in read_hostfile(file, Config())] == ["mpirun:node01", "mpirun:node02"]


@pytest.fixture
def lossy(clients: Clients) -> Clients:
    (clients.folder / "lossy.py").write_text(LOSSY_PY)
    clients.write("mpirun", LOSSY.format(folder=clients.folder, python=sys.executable))
    return clients


@pytest.mark.long
def test_nothing_is_lost_through_an_mpirun_that_loses_and_never_ends(lossy: Clients, payload: bytes) -> None:
    node = NodeSpec("n", "mpirun:node01", python=sys.executable)
    with open_channels([node], "echo", payload=payload) as channels:
        for number in range(3):
            channels.send("n", {"do": "echo", "value": f"{number}" * 50_000})
        values = [(channels.receive(20) or ("", {}))[1].get("value") for _ in range(3)]
        begun = time.monotonic()
    assert values == [f"{number}" * 50_000 for number in range(3)]
    assert time.monotonic() - begun < 2, "its input's end did not reach the probe"
    assert len(lossy.calls("mpirun")) == 1, "nothing had to be ended by a second mpirun"


@pytest.mark.long
def test_an_ask_ends_at_once_too(lossy: Clients, payload: bytes) -> None:
    begun = time.monotonic()
    nodes = [NodeSpec(f"n{number}", f"mpirun:node0{number}", python=sys.executable) for number in range(2)]
    answers = ask(nodes, "echo", {"do": "echo", "value": 2}, deadline_s=20, payload=payload)
    assert [answer.message for answer in answers] == [{"event": "echo", "value": 2}] * 2
    assert time.monotonic() - begun < 5
    assert len(lossy.calls("mpirun")) == 2


def test_what_a_node_claims_to_have_taken_is_not_believed_beyond_what_was_sent(payload: bytes) -> None:
    channel = Channel(NODE, "echo", payload)
    for claim in (10**9, -5, True, "7", None, 1.5):
        channel._note_taken({"event": "taken", "bytes": claim})
        assert channel._taken == -1, claim
    channel._note_taken({"event": "taken", "bytes": 0})
    assert channel._taken == 0
