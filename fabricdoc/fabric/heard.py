"""What came back from an exchange of beacons: who heard whom, how often, and by which kind of frame.

Only what was heard; what it means is `cabling`'s matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fabricdoc.errors import NodeError
from fabricdoc.model.fabric import PortKey

Method = Literal["beacon", "multicast"]
KINDS: tuple[Method, ...] = ("beacon", "multicast")  # the stronger proof first
DIRECT = "frames that no switch passes on came through: nothing lies between"
SWITCHED = "frames that no switch passes on did not come through: a switch seems to lie between"


@dataclass(frozen=True)
class Hearing:
    """`count` frames of `sender` heard at `listener`, by raw sockets or by multicast.

    `near` more were addressed to the nearest bridge, which passes none on: with a switch between there are none. None:
    no such frames were sent.
    """

    listener: PortKey
    sender: PortKey
    count: int
    method: Method = "beacon"
    near: int | None = None


@dataclass
class Heard:
    """All that came back from one exchange of beacons, keyed by (node, netdev).

    `methods` names the ports that could not open a raw socket and used link-local multicast; `macs` are the ports that
    listened, `refused` those that could not, with the reason, and `lacks` what their IPv6 address lacks (the words of
    `probes.multicast.CantHear`). `rights` says of a node without raw sockets what was tried to get them, `failed` why
    a node did not take part to the end. `stray` counts frames without this run's seal, `strays` by port; `echoes` are
    a port's own frames that came back to it, `unkept` frames of senders beyond those that a port keeps. `halves` are
    hearings of a node that failed before it told what it heard itself: no link, and no one-way cable either.
    """

    hearings: list[Hearing] = field(default_factory=list)
    macs: dict[PortKey, str] = field(default_factory=dict)
    refused: dict[PortKey, str] = field(default_factory=dict)
    methods: dict[PortKey, Method] = field(default_factory=dict)
    stray: int = 0
    strays: dict[PortKey, int] = field(default_factory=dict)
    lacks: dict[PortKey, str] = field(default_factory=dict)
    rights: dict[str, str] = field(default_factory=dict)
    failed: dict[str, NodeError] = field(default_factory=dict)
    echoes: dict[PortKey, int] = field(default_factory=dict)
    unkept: dict[PortKey, int] = field(default_factory=dict)
    halves: list[Hearing] = field(default_factory=list)

    def set_aside_halves(self) -> None:
        """Move hearings of failed nodes, which have no other half, from `hearings` to `halves`."""
        told = {(one.listener, one.sender) for one in self.hearings}
        self.halves = [
            one for one in self.hearings if one.sender[0] in self.failed and (one.sender, one.listener) not in told
        ]
        self.hearings = [one for one in self.hearings if one not in self.halves] if self.halves else self.hearings


def proof_of(pair: Sequence[Hearing]) -> tuple[Method, str]:
    """By which kind of frame two ports were heard (the weaker, if by both), and a line on what lies between them."""
    method: Method = "multicast" if any(one.method == "multicast" for one in pair) else "beacon"
    near = [one.near for one in pair if one.near is not None]
    if method == "multicast" or not near:
        return method, ""
    return method, DIRECT if any(near) else SWITCHED


def settled(hearings: Iterable[Hearing], full: Collection[tuple[PortKey, Method]]) -> list[Hearing]:
    """At most one hearing per direction of two ports, all of one pair by one kind of frame.

    That kind is the one that carried both ways, raw frames before multicast: a filter that stops one of them is no
    one-way cable. `full` are the ports that kept no further senders by that kind: that such a port names nobody proves
    nothing, so a hearing of which it should be the other half is left out.
    """
    pairs: dict[frozenset[PortKey], dict[Method, list[Hearing]]] = defaultdict(lambda: defaultdict(list))
    for one in hearings:
        if one.listener != one.sender:
            pairs[frozenset((one.listener, one.sender))][one.method].append(one)
    return [one for by_method in pairs.values() for one in _best(by_method, full)]


def _best(by_method: dict[Method, list[Hearing]], full: Collection[tuple[PortKey, Method]]) -> list[Hearing]:
    kinds = [by_method[kind] for kind in KINDS]
    for heard in kinds:
        if len(heard) == 2:
            return heard
    heard = next(heard for heard in kinds if heard)
    return [one for one in heard if (one.sender, one.method) not in full]
