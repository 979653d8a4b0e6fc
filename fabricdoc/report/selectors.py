"""What each node sets, ready to paste, and what else matters on this fabric: the end of `fabricdoc cables`.

Nodes with the same lines share them. Shows what the document says and chooses nothing but which set stands first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Advice, NodeSelectors, PortSet, Selectors
from fabricdoc.report.cells import BOLD, DIM, WARN, Unwrapped, Words, line

if TYPE_CHECKING:
    from rich.console import RenderableType

SAFE = re.compile(r"[A-Za-z0-9_.,:/+@%-]+")
NAMED = 4
TITLES = {
    "one-port": "one port",
    "one-cable": "one cable, all its HCAs",
    "all-ports": "every port with a proven peer",
}
ALWAYS = ("second-cable", "left-out", "bootstrap")
"""Advice that does not depend on which set is taken; the rest holds for the largest one."""
PASTED = ("one-cable", "all-ports", "one-port")
"""Which set is pasted where there are several: a second cable brings a GB10 nothing, so one cable comes first."""


def render_selectors(selectors: Selectors) -> list[RenderableType]:
    """The lines of every node, those for all ranks, and why."""
    parts: list[RenderableType] = []
    for nodes, one in _alike(selectors.nodes):
        parts += [line(), *_of_nodes(nodes, one)]
    parts += [line(), *_master(selectors)]
    always = [one for one in selectors.advice if one.topic in ALWAYS]
    others = sorted((one for one in selectors.advice if one.topic not in ALWAYS), key=lambda one: not one.matters)
    names = {chosen.name for one in selectors.nodes for chosen in one.sets}
    among = [line((f"with {TITLES['all-ports']} listed:", BOLD))] if "one-cable" in names and others else []
    told = [[piece for one in part for piece in _advice(one)] for part in (always, others)]
    return [*parts, *told[0], *among, *told[1]]


def _alike(nodes: Sequence[NodeSelectors]) -> list[tuple[list[str], NodeSelectors]]:
    """Nodes whose variables are the same, together."""
    groups: dict[tuple[object, ...], tuple[list[str], NodeSelectors]] = {}
    for one in nodes:
        key = tuple((chosen.name, tuple(chosen.variables.items())) for chosen in one.sets)
        groups.setdefault(key, ([], one))[0].append(one.node)
    return list(groups.values())


def _of_nodes(names: Sequence[str], one: NodeSelectors) -> Iterator[RenderableType]:
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    if not one.sets:
        yield line(("on ", BOLD), (shown, BOLD), (": no port has a proven peer, so none is listed", WARN))
        return
    by_name = {chosen.name: chosen for chosen in one.sets}
    first = next(by_name[name] for name in PASTED if name in by_name)
    yield line(("on ", BOLD), (shown, BOLD), f": {TITLES[first.name]}")
    for name, value in first.variables.items():
        yield Unwrapped(f"  export {name}={quoted(value)}")
    for other in one.sets:
        if other is not first:
            yield Unwrapped((f"  {TITLES[other.name]}: {_short(other)}", DIM))


def _short(chosen: PortSet) -> str:
    """The one variable in which sets differ."""
    name = next(name for name in ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME") if name in chosen.variables)
    return f"{name}={quoted(chosen.variables[name])}"


def quoted(value: str) -> str:
    """A value for any shell: zsh expands what begins with "=", so such a value stands in quotes."""
    if SAFE.fullmatch(value):
        return value
    return "'" + value.replace("'", "'\"'\"'") + "'"


def _master(selectors: Selectors) -> Iterator[RenderableType]:
    if isinstance(selectors.master, Unknown):
        yield line(("rendezvous address unknown: ", WARN), selectors.master.unknown)
    else:
        yield line("rendezvous on ", (selectors.nodes[0].node, BOLD), " (node 0), on every rank:")
        yield Unwrapped(f"  export MASTER_ADDR={quoted(selectors.master)}")


def _advice(advice: Advice) -> Iterator[RenderableType]:
    title: list[Words] = [(f"{advice.topic}: ", BOLD if advice.matters else DIM)]
    yield line(*title, advice.why if advice.matters else (advice.why, DIM))
    if advice.variables:
        pairs = " ".join(f"{name}={quoted(value)}" for name, value in advice.variables.items())
        yield Unwrapped(f"  export {pairs}")
