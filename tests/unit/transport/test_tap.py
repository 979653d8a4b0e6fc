"""The tap: every byte in both directions, the end in words or in fact, and what it has taken told between lines."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabricdoc.transport.loader import tap_argv
from fabricdoc.transport.mpirun import last_words

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

NONCE = "0123456789abcdef"
MARK = f"\x1e{NONCE} ".encode()
END = last_words(NONCE)
CAT = ["cat"]
TOLD = re.compile(b"\n" + MARK + rb'\{"event": "taken", "bytes": (\d+)\}\n')


@contextmanager
def tapped(argv: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    words = tap_argv(sys.executable, NONCE, argv)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        yield process
        process.kill()


def parted(output: bytes) -> tuple[bytes, list[int]]:
    """What the program printed, and the numbers told, out of a tap's stdout."""
    told = [int(number) for number in TOLD.findall(output)]
    return TOLD.sub(b"", output), told


def run(argv: list[str], sent: bytes) -> tuple[int, bytes, list[int]]:
    words = tap_argv(sys.executable, NONCE, argv)
    done = subprocess.run(words, input=sent, capture_output=True, timeout=20, check=False)
    return done.returncode, *parted(done.stdout)


@pytest.mark.parametrize("size", [0, 1, 4096, 65536, 1_000_000])
def test_all_of_the_input_arrives_and_is_told(size: int) -> None:
    data = os.urandom(size // 2).hex().encode() + b"\n" * (size % 2)
    status, output, told = run(CAT, data)
    assert (status, output, told[-1]) == (0, data, len(data))
    assert told == sorted(set(told))


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"\n", b"\x1e", MARK, END[:5], END[:-1]]), max_size=6))
def test_the_beginnings_of_the_last_words_are_input_like_any_other(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assume(END not in data)
    with tapped(CAT) as process:
        assert process.stdin is not None and process.stdout is not None
        for piece in pieces:
            process.stdin.write(piece)
        process.stdin.write(b"x" + END)
        output, told = parted(process.stdout.read())
        assert process.wait(10) == 0
    assert output.replace(b"\n", b"") == (data + b"x").replace(b"\n", b"")
    assert told[-1] >= len(data)


def test_the_last_words_end_the_input_while_the_pipe_stays_open() -> None:
    with tapped(CAT) as process:
        assert process.stdin is not None and process.stdout is not None
        for at in range(0, len(END), 3):  # in pieces, as mpirun may cut them
            process.stdin.write(END[at : at + 3])
        assert process.wait(10) == 0
        assert parted(process.stdout.read())[0] == b""


@pytest.mark.parametrize(("head", "whole"), [(MARK + b"half", True), (MARK[:4], True), (b"noise", False)])
def test_nothing_is_told_within_a_message(head: bytes, whole: bool) -> None:
    program = f"import sys,os;os.write(1,{head!r});sys.stdin.readline();os.write(1,b' a line\\n');sys.stdin.read()"
    with tapped([sys.executable, "-c", program]) as process:
        assert process.stdin is not None and process.stdout is not None
        seen = b""
        while head not in seen.replace(MARK + b'{"event"', b""):
            seen += process.stdout.read(64)
        process.stdin.write(b"go\n")
        if not whole:  # it is told at once: the program may be waiting for more
            while b'"bytes": 3' not in seen:
                seen += process.stdout.read(64)
        process.stdin.close()
        assert process.wait(10) == 0
        rest = seen + process.stdout.read()
    assert (head + b" a line\n" in rest) is whole
    assert parted(rest)[1][-1] == 3


@pytest.mark.parametrize(("program", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("exec >&-; sleep 0.3", 0)])
def test_its_status_is_the_programs(program: str, status: int) -> None:
    assert run(["sh", "-c", program], b"not read")[0] == status


def test_a_program_that_is_not_there_is_said() -> None:
    words = tap_argv(sys.executable, NONCE, ["/no/python3", "-V"])
    done = subprocess.run(words, input=b"", capture_output=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (127, b"/no/python3: No such file or directory\n")


def test_the_program_sees_its_end_when_the_tap_is_killed() -> None:
    program = "import os,sys;os.write(1,b'%d\\n' % os.getpid());sys.stdin.read()"
    with tapped([sys.executable, "-c", program]) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        while not line.strip().isdigit():
            line = process.stdout.readline()
        handle = os.pidfd_open(int(line))
        process.send_signal(signal.SIGKILL)
        try:
            assert select.select([handle], [], [], 10)[0]
        finally:
            os.close(handle)


def test_a_program_that_talks_on_ends_when_nobody_reads() -> None:
    program = "import os\nwhile True: os.write(1, b'y\\n' * 4096)"
    with tapped([sys.executable, "-c", program]) as process:
        assert process.stdout is not None
        process.stdout.read(65536)
        process.stdout.close()
        assert process.wait(10) != 0


def test_one_that_neither_reads_nor_stops_writing_does_not_block_the_tap() -> None:
    program = "import os\nos.write(1, b'z' * 300000 + b'\\n')\nimport sys; sys.stdin.read()"
    status, output, _told = run([sys.executable, "-c", program], b"q" * 300_000)
    assert (status, len(output)) == (0, 300_001)
