"""What candidates are held against: the NCCL that is loaded, the rails, the nodes, their platform, GPUDirect.

Asks nobody. Says why a candidate is not offered, in one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fabricdoc.bench.candidate_values import unequal
from fabricdoc.bench.offers import Offer
from fabricdoc.errors import InputError
from fabricdoc.model.run import Candidate, NotOffered
from fabricdoc.nccl import catalogue, nearest, parse_conditions, parse_release, satisfies

OTHER_NETWORK = {"ib": "needs an HCA (RDMA device) on every rail", "socket": "is for sockets, and the rails are RDMA"}


@dataclass(frozen=True)
class Ground:
    """Where a bench stands. `nccl` are the versions loaded on the nodes (each once; none with gloo).

    `gpu_direct` says for each way ("any", "dmabuf", "peermem") why it is not open, "" where it is.
    """

    nodes: tuple[str, ...] = ()
    nccl: tuple[str, ...] = ()
    rails: int = 0
    network: Literal["", "ib", "socket"] = ""
    platforms: tuple[str, ...] = ()
    gpu_direct: Mapping[str, str] = field(default_factory=dict)


def offered(offers: Sequence[Offer], ground: Ground) -> tuple[tuple[Candidate, ...], tuple[NotOffered, ...]]:
    """The candidates that can be tried here, and those that can't with the reason.

    InputError for a candidate of a user's own file with a variable that this NCCL does not read (not yet, no more), or
    with values for a node that is not there: he would wait for what can't happen.
    """
    kept: list[Candidate] = []
    left: list[NotOffered] = []
    for offer in offers:
        reason = next(_reasons(offer, ground), "") or _twin(offer, kept)
        if reason:
            left.append(NotOffered(name=offer.name, set_name=offer.set_name, reason=reason))
        else:
            kept.append(offer.candidate())
    return tuple(kept), tuple(left)


def _twin(offer: Offer, kept: Sequence[Candidate]) -> str:
    """That the same variables are tried already under another name, "" where they are not."""
    same = (offer.variables, offer.node_variables, offer.on_base)
    twin = next((c.name for c in kept if (c.variables, c.node_variables, c.on_base) == same), "")
    return f"has the same variables as {twin}" if twin else ""


def _reasons(offer: Offer, ground: Ground) -> Iterator[str]:
    yield from _unmet(offer, ground)
    wrong = next(unread(offer.variables, offer.node_variables, ground.nccl), "") or next(_nodes(offer, ground), "")
    if wrong and offer.own:
        raise InputError(f"{offer.place}: {wrong}")
    if wrong:
        yield wrong


def _unmet(offer: Offer, ground: Ground) -> Iterator[str]:
    """What `when` asks for and is not so here."""
    when = offer.when
    if when.platforms and not set(when.platforms) & set(ground.platforms):
        here = " and ".join(ground.platforms) or "another platform"
        yield f"is for {' or '.join(when.platforms)}, this is {here}"
    if when.network and when.network != ground.network:
        yield OTHER_NETWORK[when.network]
    if when.gpu_direct and (closed := ground.gpu_direct.get(when.gpu_direct, "it was not looked at")):
        yield f"needs GPUDirect RDMA: {closed}"
    if ground.rails < when.rails:
        yield f"needs {when.rails} rails between the nodes, there {_are(ground.rails)}"
    if len(ground.nodes) < when.nodes:
        yield f"needs {when.nodes} nodes, there {_are(len(ground.nodes))}"
    yield from _other_release(when.nccl, ground)


def _other_release(wanted: str, ground: Ground) -> Iterator[str]:
    if wanted and not ground.nccl:
        yield f"needs NCCL {wanted}, the version here is unknown"
    for version in ground.nccl if wanted else ():
        release = parse_release(version)
        if release is None or not satisfies(release, parse_conditions(wanted) or ()):
            yield f"needs NCCL {wanted}, here is {version}"


def _are(count: int) -> str:
    return "is none" if count == 0 else "is 1" if count == 1 else f"are {count}"


def _nodes(offer: Offer, ground: Ground) -> Iterator[str]:
    """Values for nodes that are not there, and values that would differ between all nodes of the bench."""
    if strange := [name for name in offer.node_variables if name not in ground.nodes]:
        yield f"it has values for {strange[0]!r}, which is no node of this bench ({', '.join(ground.nodes)})"
    everywhere = {node: offer.node_variables.get(node, {}) for node in ground.nodes}
    if offer.node_variables and (differs := unequal(offer.variables, everywhere)):
        yield f"{differs[0]} must be equal on all ranks, and is {differs[1]}"


def unread(
    variables: Mapping[str, str], nodes: Mapping[str, Mapping[str, str]], versions: Sequence[str]
) -> Iterator[str]:
    """Why one of these variables is not read by one of the NCCL versions: not yet, or no more."""
    for name in dict.fromkeys([*variables, *(one for own in nodes.values() for one in own)]):
        for version in versions:
            if reason := not_read(name, version):
                yield reason


def not_read(name: str, version: str) -> str:
    """Why this NCCL does not read the variable, "" where it does or nothing is known."""
    entry, release = catalogue().get(name), parse_release(version)
    if entry is None or release is None:
        return ""
    first = parse_release(entry.since)
    if first and release < first:
        return f"NCCL {version} does not read {name} yet (since {entry.since})"
    gone = parse_release(entry.removed)
    if gone and release >= gone:
        return f"NCCL {version} does not read {name} any more ({entry.effect})"
    return ""


def strangers(names: Iterable[str]) -> tuple[str, ...]:
    """NCCL_ names that no NCCL reads, each with the nearest that is one: what a typo in settings looks like."""
    told = []
    for name in names:
        if name.startswith("NCCL_") and name not in catalogue():
            near = nearest(name, 1)
            told.append(f"{name} is no variable NCCL knows" + (f"; did you mean {near[0]}?" if near else ""))
    return tuple(told)
