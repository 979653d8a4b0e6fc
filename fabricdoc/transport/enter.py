"""A program of its own: enter the namespaces of a lab node, then become the command given after `--`.

Run as `python -I enter.py PID|PATH -- COMMAND...`, standard library only, one thread (a user namespace takes no more).
A process id means its user, mount, UTS and network namespaces; a path means that network namespace alone. Exit
status 125 when it can't enter, 127 when the command is not there; otherwise that of the command.
"""

import os
import sys
from pathlib import Path

CANT_ENTER = 125
NO_COMMAND = 127
# name under /proc/PID/ns and its CLONE_NEW* flag, in the order to enter: the user namespace grants the others
KINDS = (("user", 0x10000000), ("mnt", 0x00020000), ("uts", 0x04000000), ("net", 0x40000000))


def enter(place: str) -> None:
    """Enter every namespace of `place` that is not ours already; keeps the working folder. Raises OSError."""
    if place.startswith("/"):
        wanted = [(os.open(place, os.O_RDONLY | os.O_CLOEXEC), 0x40000000)]
    else:
        wanted = [(_open(place, kind), flag) for kind, flag in KINDS if _foreign(place, kind)]
    here = _working_folder()
    import ctypes  # nothing but this function needs it, and the transport imports this module for its statuses

    libc = ctypes.CDLL(None, use_errno=True)
    for fd, flag in wanted:
        if libc.setns(fd, flag) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    _return_to(here)


def _working_folder() -> str:
    """Where we are; the root where that folder has been removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - no more imports than needed in a program of its own
    except OSError:
        return "/"


def _open(pid: str, kind: str) -> int:
    return os.open(f"/proc/{int(pid)}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


def _foreign(pid: str, kind: str) -> bool:
    theirs, ours = Path(f"/proc/{int(pid)}/ns/{kind}"), Path(f"/proc/self/ns/{kind}")
    return theirs.stat().st_ino != ours.stat().st_ino


def _return_to(folder: str) -> None:
    try:
        os.chdir(folder)
    except OSError:
        os.chdir("/")


def main(argv: list[str]) -> int:
    """Enter, then exec; returns only when one of the two failed, after one line on stderr."""
    place, command = argv[1], argv[3:]
    try:
        enter(place)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"can't enter netns:{place}: {error}\n")
        return CANT_ENTER
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NO_COMMAND


if __name__ == "__main__":
    sys.exit(main(sys.argv))
