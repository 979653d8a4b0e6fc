"""The screen of this process: its streams, its environment, and whether the answer is JSON."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricdoc.report import Screen


def screen(*, as_json: bool) -> Screen:
    """A screen over the real stdout and stderr."""
    from fabricdoc.report import Screen

    return Screen(stdout=sys.stdout, stderr=sys.stderr, env=os.environ, as_json=as_json)
