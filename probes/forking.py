"""From the agent to a rank process: one fork, after which nothing of the agent is left in the child but its torch.

The child has its own session and process group, dies with the agent (PR_SET_PDEATHSIG), holds no descriptor of the
agent's but its two pipes, writes fds 1 and 2 into a memfd (its log), has the launch's environment in os.environ and so
in C's, and dumps its Python stack into another memfd on SIGUSR1, also while it hangs in C. What it then does is the
entry's business.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ALWAYS_UNSET = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
STACK_SIGNAL = signal.SIGUSR1
_PR_SET_PDEATHSIG = 1
_LINE_BUFFERED = 1  # _IOLBF of glibc and musl

Entry = Callable[[int, int], int]  # (descriptor of orders, descriptor of events) -> exit status


@dataclass(frozen=True)
class Forked:
    """The agent's ends: the process, where orders go in, where events come out (non-blocking), log and stack."""

    pid: int
    orders_fd: int
    events_fd: int
    log_fd: int
    stack_fd: int


def fork_rank(entry: Entry, env: Mapping[str, str], unset: Sequence[str]) -> Forked:
    """Fork one rank that runs `entry` and exits with its status; OSError when the kernel refuses."""
    opened: list[int] = []
    try:
        opened += os.pipe()
        opened += os.pipe()
        opened.append(os.memfd_create("fabricdoc-rank-log"))
        opened.append(os.memfd_create("fabricdoc-rank-stack"))
        orders_r, orders_w, events_r, events_w, log, stack = opened
        agent = os.getpid()
        pid = os.fork()
    except OSError:
        for fd in opened:
            os.close(fd)
        raise
    if pid == 0:
        _child(entry, agent, (orders_r, events_w, log, stack), env, unset)
    os.close(orders_r)
    os.close(events_w)
    os.set_blocking(events_r, False)
    return Forked(pid, orders_w, events_r, log, stack)


def _child(
    entry: Entry, agent: int, fds: tuple[int, int, int, int], env: Mapping[str, str], unset: Sequence[str]
) -> NoReturn:
    status = 1
    try:
        orders_fd, events_fd, log_fd, stack_fd = fds
        _detach(agent)
        _reset_signals()
        _keep_only(orders_fd, events_fd, log_fd, stack_fd)
        _set_environment(env, unset)
        faulthandler.register(STACK_SIGNAL, file=stack_fd, all_threads=True)
        status = entry(orders_fd, events_fd)
    except BaseException:  # noqa: BLE001 - nothing may climb back into the agent's loop
        traceback.print_exc()
    finally:
        leave(status)


def leave(status: int) -> NoReturn:
    """End this process at once with what it wrote: no torch or NCCL teardown, which may hang."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
    os._exit(status)


def _detach(agent: int) -> None:
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != agent:  # it died between fork and prctl
        os._exit(1)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _keep_only(orders_fd: int, events_fd: int, log_fd: int, stack_fd: int) -> None:
    """Close every other descriptor: 0 reads nothing, 1 and 2 are the log. A zip that modules come from stays open."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    keep = {0, 1, 2, orders_fd, events_fd, stack_fd, *import_fds(sys.path)}
    for fd in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if fd not in keep:
            _close(fd)
    _line_buffer_output()


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:  # the descriptor that listed the folder is already gone
        return


def import_fds(path: Sequence[str]) -> set[int]:
    """Descriptors named by entries of sys.path such as /proc/self/fd/3."""
    start = "/proc/self/fd/"
    return {int(item[len(start) :]) for item in path if item.startswith(start) and item[len(start) :].isdigit()}


def _line_buffer_output() -> None:
    """Python and C (NCCL logs to its stdout) would keep their last 4 KiB from us when the rank is killed."""
    sys.stdout = sys.stderr = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    library = ctypes.CDLL(None)
    library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, _LINE_BUFFERED, ctypes.c_size_t(0))


def _set_environment(env: Mapping[str, str], unset: Sequence[str]) -> None:
    """`unset` goes first, so a variable in both is set; the allocator's variables are never passed on."""
    for name in unset:
        os.environ.pop(name, None)
    os.environ.update(env)
    for name in ALWAYS_UNSET:
        os.environ.pop(name, None)
