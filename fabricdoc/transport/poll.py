"""Waiting for many channels at once, every wait with an end, and ending them so that nothing of ours stays behind.

One poll over all descriptors instead of threads. What a channel's bytes mean is `channel`'s matter.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from fabricdoc.transport.channel import Channel, Process
from fabricdoc.transport.targets import Command

# an ended process whose pipes someone else holds is noticed at the latest after this
SLICE_S = 0.2
# how many nodes are started, asked or ended at a time: it bounds the processes and the memory of this machine
AT_ONCE = 64
KILL_S = 1.0
ENDER_S = 3.0


def step(channels: Sequence[Channel], timeout_s: float) -> None:
    """Wait until something happens on any channel (at most SLICE_S or `timeout_s`), read and write what is ready."""
    poller = select.poll()
    owners: dict[int, Channel] = {}
    for channel in channels:
        for fd, events in channel.interests():
            poller.register(fd, events)
            owners[fd] = channel
    for fd, _events in poller.poll(max(0.0, min(timeout_s, SLICE_S)) * 1000):
        owners[fd].ready(fd)
    for channel in channels:
        channel.settle()


def step_until(channels: Sequence[Channel], done: Callable[[], bool], timeout_s: float) -> bool:
    """Step until `done()` or the time is over; returns the last `done()`."""
    end = time.monotonic() + timeout_s
    while not done():
        left = end - time.monotonic()
        if left <= 0:
            return False
        step(channels, left)
    return True


def end_all(channels: Sequence[Channel], grace_s: float) -> None:
    """Close every stdin, wait up to `grace_s`, kill the rest here and on their nodes. A Ctrl-C goes to the killing.

    A process in uninterruptible sleep outlives SIGKILL: it is left after KILL_S.
    """
    for channel in channels:
        channel.end_input()
    try:
        wait_ended(channels, grace_s)
    finally:
        late = [channel for channel in channels if not channel.ended]
        for channel in late:
            channel.kill()
        wait_ended(late, KILL_S)
        end_remote([channel for channel in channels if channel.killed])
        wait_ended([channel for channel in late if not channel.ended], KILL_S)  # one that only its ender could kill


def wait_ended(channels: Sequence[Channel], timeout_s: float) -> None:
    """Step until all of them have ended or the time is over."""
    step_until(channels, lambda: all(channel.ended for channel in channels), timeout_s)


def end_remote(channels: Sequence[Channel]) -> None:
    """Kill what killed channels left on their nodes, AT_ONCE nodes at a time.

    A stopped program doesn't see its stdin end, and one in a container outlives the runtime's client.
    """
    commands = [command for channel in channels if (command := channel.ender()) is not None]
    for start in range(0, len(commands), AT_ONCE):
        _run(commands[start : start + AT_ONCE])


def _run(commands: Sequence[Command]) -> None:
    """Run these all at once, for at most ENDER_S; what they say is of no use any more."""
    enders: list[Process] = []
    try:
        for command in commands:
            try:
                enders.append(Process(command))
            except OSError:
                continue
        end = time.monotonic() + ENDER_S
        while not all(ender.has_exited() for ender in enders) and (left := end - time.monotonic()) > 0:
            select.poll().poll(min(left, 0.02) * 1000)
    finally:
        for ender in enders:
            ender.kill()
            ender.leave()
