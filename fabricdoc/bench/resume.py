"""May a run be taken up again here? Only where nodes, NCCL and links are what they were, else naming what differs.

Compares documents; reaches no node and no store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fabricdoc.errors import InputError, UsageError
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Link
from fabricdoc.model.run import Launch, NodeContext, Run

COMPARED = ("target", "python", "hostname", "kernel", "torch", "nccl", "nvidia_driver", "gpus")


def refuse_complete(stored: Run) -> None:
    """UsageError (id resume-complete) for a run that has its end: no node need be asked to say so."""
    if stored.status == "complete" and not stored.reason:
        raise UsageError(
            f"run {stored.id} is complete: nothing is left to measure",
            fix=f"judge it again: fabricdoc recommend {stored.id}",
            id="resume-complete",
        )


def taken_up(stored: Run, nodes: Sequence[NodeContext], links: Fact[tuple[Link, ...]]) -> Run:
    """The stored run, to be measured on with today's nodes and links.

    Raises UsageError (id resume-complete) for a run that has an end, and UsageError (id resume-differs) naming every
    difference between then and now.
    """
    refuse_complete(stored)
    found = list(differences(stored, nodes, links))
    if found:
        raise UsageError(
            f"run {stored.id} was measured on other ground: {'; '.join(found)}",
            fix="measure anew without --resume: launches of unlike nodes can't be compared",
            id="resume-differs",
        )
    return stored


def differences(stored: Run, nodes: Sequence[NodeContext], links: Fact[tuple[Link, ...]]) -> Iterator[str]:
    """What is not as it was, a clause each: nodes missing or new, their software and GPUs, the links between them."""
    before, now = {node.name: node for node in stored.nodes}, {node.name: node for node in nodes}
    if before.keys() != now.keys():
        yield f"its nodes were {', '.join(before)}, now {', '.join(now)}"
    for name in before.keys() & now.keys() if before.keys() == now.keys() else ():
        for field in COMPARED:
            old, new = getattr(before[name], field), getattr(now[name], field)
            if not isinstance(old, Unknown) and not isinstance(new, Unknown) and old != new:
                yield f"{field} of {name} was {_text(old)}, now {_text(new)}"
        yield from _variables(before[name], now[name])
    old_links, new_links = _ends(stored.links), _ends(links)
    for gone in sorted(old_links - new_links):
        yield f"the link {' to '.join(gone)} is gone"
    for new in sorted(new_links - old_links):
        yield f"the link {' to '.join(new)} is new"


def _variables(before: NodeContext, now: NodeContext) -> Iterator[str]:
    """What NCCL or gloo would inherit there otherwise than before."""
    if before.environment is None or now.environment is None:
        return
    for name in sorted(before.environment.keys() | now.environment.keys()):
        old, new = before.environment.get(name), now.environment.get(name)
        if old != new and name.startswith(("NCCL_", "GLOO_")) and name != "NCCL_VERSION":
            yield f"{name} in the environment of {before.name} was {old or 'unset'}, now {new or 'unset'}"


def _text(value: object) -> str:
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value)


def _ends(links: Fact[tuple[Link, ...]]) -> set[tuple[str, str]]:
    """Each link as its two ports with their MACs, in order; none where links are unknown."""
    if isinstance(links, Unknown):
        return set()
    ports = [[f"{end.node}/{end.netdev} ({end.mac})" for end in (link.a, link.b)] for link in links]
    return {(min(pair), max(pair)) for pair in ports}


def refuse_other_course(launch: Launch, candidate: str, round_: str, block: int, position: int) -> None:
    """InputError where a stored launch is not the one that the run's plan has at its place."""
    if (launch.candidate, launch.round, launch.block, launch.position) == (candidate, round_, block, position):
        return
    raise InputError(
        f"launch {launch.number} is {launch.candidate} in {launch.round} block {launch.block}, place {launch.position},"
        f" where the plan has {candidate} in {round_ or 'no round'} block {block}, place {position}",
        fix="the run was measured by another version of fabricdoc: measure anew without --resume",
        id="resume-course",
    )
