"""The screen of this process: its streams, its environment, and whether the answer is JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricdoc.report import Screen

_screens: dict[tuple[bool, bool], Screen] = {}
"""The screens of the command that runs now, by form: an error must know whether the answer was given already."""


def begin() -> None:
    """A new command begins: forget the screens of the one before."""
    _screens.clear()


def screen(*, as_json: bool, lines: bool = False) -> Screen:
    """This command's screen over the real stdout and stderr; `lines`: each JSON document in a line of its own."""
    from fabricdoc.report import Screen

    key = (as_json or lines, lines)
    if key not in _screens:
        _screens[key] = Screen(stdout=sys.stdout, stderr=sys.stderr, env=os.environ, as_json=as_json, lines=lines)
    return _screens[key]
