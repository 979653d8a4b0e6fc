"""Findings of how ports sort traffic: on three servers whose rails have PFC and ECN on priority 3."""

from __future__ import annotations

from typing import Any

from fabricdoc.model.fabric import Fabric
from tests.fabrics.ill import NOT_READ, Alter, Ill, both, put
from tests.fabrics.servers import eight_rail_servers, rail

NETDEV = rail(0, 5).netdev
OFF = (False,) * 8


def three() -> Fabric:
    return eight_rail_servers(3)


def rail_5(node: str = "server-003", **facts: Any) -> Alter:
    return put(node, "qos", NETDEV, **facts)


def on_priorities(*numbers: int) -> tuple[bool, ...]:
    return tuple(number in numbers for number in range(8))


def other_map() -> tuple[int, ...]:
    """DSCP 26 into priority 0."""
    return tuple(0 if dscp == 26 else dscp >> 3 for dscp in range(64))


ILL = {
    "qos-trust-differs": Ill(three, rail_5(trust="pcp"), rail_5(trust=NOT_READ)),
    "qos-pfc-differs": Ill(three, rail_5(pfc=on_priorities(4)), rail_5("*", pfc=on_priorities(4))),
    "qos-dscp-map-differs": Ill(three, rail_5(dscp_priority=other_map()), rail_5("*", dscp_priority=other_map())),
    "qos-ecn-differs": Ill(
        three,
        rail_5(ecn_np=on_priorities(3, 4), ecn_rp=on_priorities(3, 4)),
        rail_5(ecn_np=on_priorities(3, 4), ecn_rp=on_priorities(3)),
    ),
    "ecn-off-on-lossless-priority": Ill(three, rail_5("*", ecn_np=OFF), rail_5("*", ecn_np=NOT_READ)),
    "pfc-on-several-priorities": Ill(three, rail_5("*", pfc=on_priorities(3, 4)), rail_5("*", pfc=on_priorities(3))),
    "global-pause-only": Ill(
        three, both(rail_5(pfc=OFF, pause_rx=True)), both(rail_5(pfc=on_priorities(3), pause_rx=True))
    ),
}
