"""The one place where an argv becomes text for a shell: the command line that ssh hands to a login shell.

Written so that sh, bash, dash, ksh, zsh, busybox, fish and csh read the same words. Nothing local goes through here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabricdoc.errors import UsageError

_PLAIN = re.compile(r"[A-Za-z0-9_./:,-]+", re.ASCII)
_PIECES = re.compile(r"['\\!]|[^'\\!]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def quote_word(word: str) -> str:
    """One word for any login shell; raises UsageError for control characters, which not every shell passes on.

    Single quotes do most. A backslash means something inside them to fish, `!` means something to csh, so both and
    the quote itself stand outside.
    """
    if _CONTROL.search(word):
        raise UsageError(f"a control character can't be sent through a login shell: {word[:40]!r}")
    if _PLAIN.fullmatch(word):
        return word
    alone = {"'": '"\'"', "\\": "\\\\", "!": "\\!"}
    return "".join(alone.get(piece, f"'{piece}'") for piece in _PIECES.findall(word)) or "''"


def remote_command(argv: Sequence[str]) -> str:
    """The command line that makes a login shell run `argv`; its first word can't be mistaken for an option of ssh."""
    if not argv or argv[0].startswith("-"):
        raise UsageError(f"not a command: {list(argv)[:1]}")
    return " ".join(quote_word(word) for word in argv)
