"""Agents that said hello: which nodes a bench can't use, with the reason and the line that helps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabricdoc.errors import NodeError


def refuse_others(hellos: Mapping[str, Mapping[str, Any]]) -> None:
    """A node where another bench's agent runs: both would measure the other's load. Our own second agent is none."""
    own = {int(hello.get("pid") or 0) for hello in hellos.values()}
    for name, hello in hellos.items():
        other = int(hello.get("other_agent") or 0)
        if other and other not in own:
            who = f"pid {other}" if other > 0 else "its process can't be seen from there"
            raise NodeError(
                f"{name}: another bench runs there now ({who}): each would measure the other's load",
                fix="wait for its end, or end it, then run this again",
                id="node-busy",
            )


def refuse_without_torch(hellos: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise NodeError (torch-missing) naming every node without torch, its python's path and why."""
    without = {name: hello for name, hello in sorted(hellos.items()) if not hello.get("torch")}
    if not without:
        return
    nodes: dict[str, list[str]] = {}
    for name, hello in without.items():
        python = f"{hello.get('executable') or 'its python'} ({hello.get('python', 'version unknown')})"
        nodes.setdefault(f"{python}: {hello.get('torch_error', '')}", []).append(name)
    raise NodeError(
        "; ".join(f"{' and '.join(names)}: torch can't be imported by {why}" for why, names in nodes.items()),
        fix="name a python that has torch with --python or python= in fabric.toml, or install torch for that one",
        id="torch-missing",
    )
