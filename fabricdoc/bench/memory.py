"""What a launch may take of a node's memory: the limits are data in presets/platforms/memory.toml.

The agent on the node enforces them before and while a launch runs; nothing overrides them.
"""

from __future__ import annotations

import tomllib
from functools import cache

from fabricdoc.files import own_folder
from fabricdoc.model.run import Plan

GIB = 1 << 30


@cache
def floors() -> dict[str, dict[str, int]]:
    """after_launch and while_running in GiB, for "unified" and "separate" memory."""
    text = own_folder("presets").joinpath("platforms/memory.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def memory_limits(plan: Plan, *, unified: bool) -> dict[str, int]:
    """What the agent is told, in bytes: the launch's own need, and what must stay free then and later."""
    floor = floors()["unified" if unified else "separate"]
    return {"need": plan.estimate.memory_per_node, **{name: value * GIB for name, value in floor.items()}}
