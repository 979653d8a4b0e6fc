"""The screen of this process: its streams, its environment, and whether the answer is JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricdoc.report import Screen

_screens: dict[tuple[bool, bool], Screen] = {}
"""The screens of the command that runs now, by form: an error must know whether the answer was given already."""
_typed: list[str] = []


def begin(words: Sequence[str] = ()) -> None:
    """A new command begins, written in these words: forget the screens of the one before."""
    _screens.clear()
    _typed[:] = words


def typed() -> tuple[str, ...]:
    """The words of the command that runs now, as the user wrote them, without the program's name."""
    return tuple(_typed)


def _store(words: Sequence[str]) -> str:
    """The file of runs that the words name, "" for the usual one; what follows -- is another's command."""
    own = words[: words.index("--")] if "--" in words else words
    for place, word in enumerate(own):
        option, equals, value = word.partition("=")
        if option == "--store":
            return value if equals else "".join(own[place + 1 : place + 2])
    return ""


def screen(*, as_json: bool, lines: bool = False) -> Screen:
    """This command's screen over the real stdout and stderr; `lines`: each JSON document in a line of its own."""
    from fabricdoc.report import Screen

    key = (as_json or lines, lines)
    if key not in _screens:
        _screens[key] = Screen(
            stdout=sys.stdout,
            stderr=sys.stderr,
            env=os.environ,
            as_json=as_json,
            lines=lines,
            store=_store(_typed),
        )
    return _screens[key]
