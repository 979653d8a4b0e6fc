"""What came back from an exchange of beacons: who heard whom, how often, and by which kind of frame.

Only what was heard; what it means is `cabling`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PortKey = tuple[str, str]  # node name, netdev
Method = Literal["beacon", "multicast"]


@dataclass(frozen=True)
class Hearing:
    """`count` frames of `sender` heard at `listener`."""

    listener: PortKey
    sender: PortKey
    count: int


@dataclass
class Heard:
    """All that came back from one exchange of beacons, keyed by (node, netdev).

    `methods` names the ports that could not open a raw socket and used link-local multicast; `macs` are the ports that
    listened, `refused` those that could not, with the reason. `stray` counts frames without this run's seal.
    """

    hearings: list[Hearing] = field(default_factory=list)
    macs: dict[PortKey, str] = field(default_factory=dict)
    refused: dict[PortKey, str] = field(default_factory=dict)
    methods: dict[PortKey, Method] = field(default_factory=dict)
    stray: int = 0
