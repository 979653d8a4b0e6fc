"""What one launch sent back, kept as it comes: raw events by their kind, and how each rank ended.

Everything here was checked by `heard` before; text is bounded again. What it means is `launch`'s and `samples`'.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_STACK_LINES, _STACK_LINE_LENGTH = 60, 300


@dataclass
class RankEnd:
    """How one rank ended: status, the phase it was in, one line why, the tail of what it wrote, where it stood.

    `state` is the kernel's letter for it when its time was over (proc(5)), empty for one that ended by itself.
    """

    status: str
    phase: str = ""
    reason: str = ""
    log: str = ""
    stack: tuple[str, ...] = ()
    state: str = ""
    timings_s: dict[str, float] = field(default_factory=dict)


@dataclass
class Outcome:
    """Everything one launch sent back. `cells`, `skews`, `directs`, `soaks` are raw events; `ends` is keyed by rank.

    `states` are the raw facts of each node, `left` the pids of our processes on it that nothing ended; `pids`
    are those of all ranks on all nodes.
    """

    cells: list[dict[str, Any]] = field(default_factory=list)
    skews: list[dict[str, Any]] = field(default_factory=list)
    directs: list[dict[str, Any]] = field(default_factory=list)
    soaks: list[dict[str, Any]] = field(default_factory=list)
    ends: dict[int, RankEnd] = field(default_factory=dict)
    phases: dict[int, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    left: dict[str, tuple[int, ...]] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)


def keep(outcome: Outcome, event: str, name: str, message: dict[str, Any]) -> None:
    """Put one event of node `name` where it belongs."""
    lists = {"cell": outcome.cells, "skew": outcome.skews, "direct": outcome.directs, "soak": outcome.soaks}
    if event in lists:
        lists[event].append(message)
    elif event == "phase":
        outcome.phases[message["rank"]] = message["phase"]
    elif event == "rank_done":
        outcome.ends[message["rank"]] = _rank_end(message)
    elif event == "state":
        outcome.states[name] = message
    elif event == "launch_done":
        outcome.done.add(name)
        if left := pids(message.get("alive")):
            outcome.left[name] = left


def _rank_end(message: dict[str, Any]) -> RankEnd:
    return RankEnd(
        status=str(message.get("status", "failed")),
        phase=str(message.get("phase", "")),
        reason=str(message.get("reason", "")),
        log=str(message.get("log", "")),
        stack=_lines(message.get("stack")),
        state=str(message.get("state", ""))[:1],
        timings_s={str(k): float(v) for k, v in dict(message.get("timings_s") or {}).items()},
    )


def pids(said: object) -> tuple[int, ...]:
    """A list of processes as a node tells it, bounded."""
    return tuple(pid for pid in said[:_STACK_LINES] if isinstance(pid, int)) if isinstance(said, list) else ()


def _lines(said: object) -> tuple[str, ...]:
    """What a rank's stack is in the record: text, bounded, the innermost calls kept."""
    lines = said[-_STACK_LINES:] if isinstance(said, list) else []
    return tuple("".join(c if c.isprintable() else "?" for c in str(line))[:_STACK_LINE_LENGTH] for line in lines)
