"""What disturbed a launch, judged from the states of its nodes: clocks, other users of the GPU, error counters.

Limits are data (presets/measuring/disturbance.toml). What can't be read disturbs nothing: it is unknown, and stays so
in the record. A disturbed launch takes its whole block out of judgement; it is never deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from statistics import median
from typing import Any

from fabricdoc.files import own_folder, parse_toml
from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Launch, NodeState

REPEATED = 2  # earlier launches of one candidate with the same counters: then they are its doing


@lru_cache(maxsize=1)
def limits() -> Mapping[str, Any]:
    """presets/measuring/disturbance.toml."""
    return parse_toml(own_folder("presets").joinpath("measuring/disturbance.toml").read_text(encoding="utf-8"))


def disturbance(launch: Launch, earlier: Sequence[Launch]) -> str:
    """Why the launch's block must not be judged, one clause; empty where nothing was seen. `earlier` are the run's."""
    return next(iter(_reasons(launch, earlier)), "")


def _reasons(launch: Launch, earlier: Sequence[Launch]) -> Iterator[str]:
    for state in launch.states:
        if others := _known(state.other_gpu_processes):
            yield f"{state.node}: the GPU was used by pid {', '.join(map(str, others[:3]))}"
        if held := sorted(set(_known(state.throttled)) & set(limits()["clocks"]["throttle"])):
            yield f"{state.node}: the GPU was held back ({', '.join(held)})"
    yield from _clocks_apart(launch)
    for state in launch.states:
        yield from _slow_clock(state, earlier)
        yield from _errors(state, launch, earlier)


def _known(fact: tuple[Any, ...] | Unknown) -> tuple[Any, ...]:
    return () if isinstance(fact, Unknown) else fact


def _clock(state: NodeState) -> int | None:
    """The SM clock right after the launch, in MHz; None where it is unknown or makes no sense."""
    clocks = _known(state.sm_clock_mhz)
    return clocks[1] if len(clocks) == 2 and clocks[1] > 0 else None


def _clocks_apart(launch: Launch) -> Iterator[str]:
    clocks = sorted((clock, state.node) for state in launch.states if (clock := _clock(state)) is not None)
    if clocks and clocks[-1][0] / clocks[0][0] - 1.0 > limits()["clocks"]["apart"]:
        (slow, there), (fast, here) = clocks[0], clocks[-1]
        yield f"clocks apart: the GPU of {there} ran at {slow} MHz, that of {here} at {fast} MHz"


def _slow_clock(state: NodeState, earlier: Sequence[Launch]) -> Iterator[str]:
    clock, rule = _clock(state), limits()["clocks"]
    states = (old for launch in earlier for old in launch.states if old.node == state.node)
    usual = [seen for old in states if (seen := _clock(old)) is not None]
    if clock is not None and len(usual) >= rule["known"] and median(usual) / clock - 1.0 > rule["below_own"]:
        yield f"{state.node}: the GPU's clock fell to {clock} MHz from {median(usual):.0f} MHz"


def _errors(state: NodeState, launch: Launch, earlier: Sequence[Launch]) -> Iterator[str]:
    for counter in _moved(state):
        if not _own_doing(counter, state.node, launch.candidate, earlier):
            yield f"{state.node}: {counter} rose by {state.port_errors[counter]}"


def _moved(state: NodeState) -> list[str]:
    """The counters of ports that took part which rose by more than a launch may bring; `port counter` each."""
    allowed = limits()["port_errors"]["allowed"]
    return sorted(
        name
        for name, rise in state.port_errors.items()
        if rise > allowed.get(name.replace("/", " ").split()[-1], 0) and _took_part(name.split(" ")[0], state)
    )


def _took_part(port: str, state: NodeState) -> bool:
    """Whether the port carried a fair part of the node's traffic; where its traffic is unknown it may have."""
    traffic = {name: sum(ways) for name, ways in state.port_bytes.items()}
    return port not in traffic or traffic[port] >= limits()["port_errors"]["part"] * max(traffic.values())


def _own_doing(counter: str, node: str, candidate: str, earlier: Sequence[Launch]) -> bool:
    """Whether the counter rises under this candidate again and again and never under another: its effect, no chance."""
    by = {
        launch.number: launch.candidate
        for launch in earlier
        for state in launch.states
        if state.node == node and counter in _moved(state)
    }
    return len(by) >= REPEATED and set(by.values()) == {candidate}


def break_in_block(last: Launch, now: datetime) -> str:
    """Why a block that was begun before a break must not be judged; empty where the break was short."""
    ended = datetime.fromisoformat(last.started).timestamp() + last.seconds
    seconds = now.timestamp() - ended
    return f"the run stood still for {seconds:.0f} s in this block" if seconds > limits()["break"]["seconds"] else ""


def most_again(blocks: int) -> int:
    """How many disturbed blocks of a round of `blocks` are measured again."""
    return -int(-blocks * limits()["again"]["most"] // 1)
