"""The small family of errors a user can meet, each joined to an exit status and to what to do about it.

Rooms raise these; only `fabricdoc.cli` turns them into one line and a status. Nothing here prints.
"""

from __future__ import annotations

import shlex
import sys
from enum import IntEnum


class ExitStatus(IntEnum):
    """What every command answers with (the same meaning everywhere)."""

    FIT = 0
    NOT_FIT = 1
    USAGE = 2
    INCONCLUSIVE = 3
    FAILED = 4
    INTERRUPTED = 130


class FabricdocError(Exception):
    """A failure that ends a command: what happened, what to do, and with which status.

    `id` is stable and lower-case-with-dashes, `message` one line, `fix` one line (may be empty).
    """

    status = ExitStatus.FAILED

    def __init__(self, message: str, *, fix: str = "", id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.id = id or _dashed(type(self).__name__)


def _dashed(name: str) -> str:
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
    return words.strip("-").removesuffix("-error")


class UsageError(FabricdocError):
    """The words on the command line, or a file they name, can't be used (exit 2)."""

    status = ExitStatus.USAGE


class InputError(UsageError):
    """A file is unreadable, malformed, or not the document it should be (exit 2)."""


class InconclusiveError(FabricdocError):
    """fabricdoc could not tell; the message says what is missing (exit 3)."""

    status = ExitStatus.INCONCLUSIVE


class NodeError(FabricdocError):
    """A node could not be reached or used (exit 4)."""


class ToolError(FabricdocError):
    """Something on this machine failed or is missing: namespaces, a program, torch (exit 4)."""


class StoreError(FabricdocError):
    """The run store can't be read or written (exit 4)."""


class StoppedError(FabricdocError):
    """The user stopped the command; the message says what is kept (exit 130)."""

    status = ExitStatus.INTERRUPTED


def pip_line(*packages: str) -> str:
    """The command that puts packages into the python that runs this, which need not be the one that `pip` serves."""
    return f"{shlex.quote(sys.executable or 'python3')} -m pip install {' '.join(packages)}"
