"""What a node says of itself around a launch, checked and made a `NodeState`. What it means is not judged here.

A node's word is untrusted: numbers and lists are bounded, and what does not fit is unknown with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.run import NodeState

T = TypeVar("T")
MOST = 256
_NAME_LENGTH = 80
_LARGEST = 2**63 - 1


def state_of(node: str, said: Mapping[str, Any], ours: Collection[int] = ()) -> NodeState:
    """The state of one node out of an agent's `state` event.

    `ours` are the pids of our ranks on all nodes: nodes that share a machine see each other's on its GPUs, and each
    agent knows its own ranks alone.
    """
    try:
        return NodeState(
            node=node,
            sm_clock_mhz=_fact(said.get("sm_clock_mhz"), _pair),
            throttled=_fact(said.get("throttled"), lambda value: tuple(_name(one) for one in _items(value))),
            other_gpu_processes=_fact(
                said.get("other_gpu_processes"),
                lambda value: tuple(pid for one in _items(value) if (pid := _count(one)) not in ours),
            ),
            load_1min=_fact(said.get("load_1min"), _load),
            port_bytes=_table(said.get("port_bytes"), _pair),
            port_errors=_table(said.get("port_errors"), _count),
        )
    except (ValidationError, ValueError, TypeError) as problem:
        reason = Unknown(unknown=f"the agent's answer does not fit: {str(problem).splitlines()[0][:200]}")
        return NodeState(node=node, sm_clock_mhz=reason, throttled=reason, other_gpu_processes=reason, load_1min=reason)


def _fact(said: Any, fits: Callable[[Any], T]) -> Fact[T]:
    if isinstance(said, dict) and set(said) == {"unknown"}:
        return Unknown(unknown=_name(said["unknown"], 300))
    return Unknown(unknown="not read") if said is None else fits(said)


def _items(said: Any) -> list[Any]:
    if not isinstance(said, list):
        raise TypeError(f"no list: {str(said)[:80]}")
    return said[:MOST]


def _count(said: Any) -> int:
    if not isinstance(said, int) or isinstance(said, bool) or not 0 <= said <= _LARGEST:
        raise ValueError(f"no count: {str(said)[:80]}")
    return said


def _pair(said: Any) -> tuple[int, int]:
    first, second = _items(said)
    return _count(first), _count(second)


def _load(said: Any) -> float:
    value = float(said)
    if not 0 <= value < 1e6:
        raise ValueError(f"no load: {str(said)[:80]}")
    return value


def _name(said: Any, longest: int = _NAME_LENGTH) -> str:
    return "".join(c if c.isprintable() else "?" for c in str(said))[:longest]


def _table(said: Any, fits: Callable[[Any], T]) -> dict[str, T]:
    entries = list(said.items())[:MOST] if isinstance(said, dict) else []
    return {_name(name): fits(value) for name, value in entries}
