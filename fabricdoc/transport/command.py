"""One command on one node, and what it said: for the few questions that a program of the node answers best.

Its stdin is empty, its output is bounded, and it ends by its deadline. What it means is the caller's matter; probes
start no programs, and nothing that changes a node belongs here.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from typing import NamedTuple

from fabricdoc.errors import NodeError
from fabricdoc.transport.channel import SSH_FAILED, Process
from fabricdoc.transport.failures import Ending, why_ended
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.targets import command_for

MAX_OUTPUT = 64 * 1024
CHUNK = 16 * 1024
SLICE_S = 0.05


class Said(NamedTuple):
    """How a command ended and what it wrote, each cut to 64 KiB and made valid text."""

    status: int
    stdout: str
    stderr: str


def output_of(node: NodeSpec, argv: Sequence[str], *, deadline_s: float) -> Said:
    """Run `argv` on the node and wait for its end, at most `deadline_s` seconds.

    Raises NodeError: "command-missing" where the program is not there, "node-timeout", or ssh's own failures.
    """
    command = command_for(node, lambda _python: argv)
    try:
        process = Process(command)
    except OSError as error:
        raise NodeError(f"{node.name}: {argv[0]} can't be run: {error.strerror}", id="command-missing") from error
    process.close(process.stdin)
    texts = {process.stdout: bytearray(), process.stderr: bytearray()}
    if not _read_to_the_end(process, texts, time.monotonic() + deadline_s):
        process.kill()
        process.leave()
        raise NodeError(f"{node.name}: {argv[0]} did not end within {deadline_s:g} s", id="node-timeout")
    stdout, stderr = (bytes(text).decode("utf-8", "replace") for text in texts.values())
    said = Said(process.reap(), stdout, stderr)
    if command.over_ssh and said.status == SSH_FAILED:
        raise why_ended(node, Ending("ssh", argv[0], said.status, False, said.stderr))
    if said.status == 127:
        raise NodeError(f"{node.name}: there is no {argv[0]}", id="command-missing")
    return said


def _read_to_the_end(process: Process, texts: dict[int, bytearray], end: float) -> bool:
    """Whether the command ended in time; what it wrote beyond the bound is read and dropped."""
    while not process.has_exited() or any(process.is_open(fd) for fd in texts):
        left = end - time.monotonic()
        if left <= 0:
            return False
        open_fds = [fd for fd in texts if process.is_open(fd)]
        for fd in select.select(open_fds, [], [], min(left, SLICE_S))[0]:
            data = os.read(fd, CHUNK)
            if data:
                texts[fd] += data[: max(0, MAX_OUTPUT - len(texts[fd]))]
            else:
                process.close(fd)
    return True
