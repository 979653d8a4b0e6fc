"""The screen of this process: its streams, its environment, and whether the answer is JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricdoc.report import Screen

_screens: dict[bool, Screen] = {}
"""The screens of the command that runs now, by `as_json`: an error must know whether the answer was given already."""


def begin() -> None:
    """A new command begins: forget the screens of the one before."""
    _screens.clear()


def screen(*, as_json: bool) -> Screen:
    """This command's screen over the real stdout and stderr."""
    from fabricdoc.report import Screen

    if as_json not in _screens:
        _screens[as_json] = Screen(stdout=sys.stdout, stderr=sys.stderr, env=os.environ, as_json=as_json)
    return _screens[as_json]
