"""The few system calls Python 3.11 has no function for: unshare, setns, mount, prctl. Linux only.

Each raises OSError with the errno. Which namespaces a lab takes, and why, is decided by its callers.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

# <linux/sched.h>, <linux/mount.h>, <linux/prctl.h>
CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REC = 0x4000
MS_PRIVATE = 0x40000
PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Give this process new namespaces of the kinds in `flags` (CLONE_NEW*)."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(descriptor: int, flags: int) -> None:
    """Enter the namespace behind an open /proc/PID/ns file (or pidfd) of the kinds in `flags`."""
    _checked(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(flags)), "setns")


def mount(source: str, target: str, kind: str | None, flags: int) -> None:
    """mount(2) without data; `kind` None changes the propagation or flags of what is there."""
    name = kind.encode() if kind else None
    result = _libc.mount(source.encode(), target.encode(), name, ctypes.c_ulong(flags), None)
    _checked(result, f"mount {target}")


def set_process_name(name: str) -> None:
    """The name `ps` and /proc/PID/comm show (the kernel keeps 15 bytes)."""
    _checked(_libc.prctl(ctypes.c_int(PR_SET_NAME), name.encode()[:15], 0, 0, 0), "prctl")


def die_with_parent(parent: int) -> None:
    """Ask for SIGKILL when the parent ends; if it already has (another pid is our parent now), end at once.

    The kernel counts the parent *thread* that forked us, and forgets the wish when credentials change: ask
    again after a new user namespace.
    """
    result = _libc.prctl(ctypes.c_int(PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    _checked(result, "prctl")
    if os.getppid() != parent:
        os._exit(1)


@contextmanager
def inside_net(pid: int) -> Iterator[None]:
    """This thread in the network namespace of `pid`, and back in its own at the end."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            setns(there, CLONE_NEWNET)
        finally:
            os.close(there)
        try:
            yield
        finally:
            setns(home, CLONE_NEWNET)
    finally:
        os.close(home)
