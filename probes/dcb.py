"""What the kernel's DCB interface says of one port: PFC, ETS, the DSCP map, and what the driver trusts.

One question an interface (RTM_GETDCB with IEEE_GET), since the kernel offers no dump; only ports worth it are asked.
Layout: linux/dcbnl.h, net/dcb/dcbnl.c. A driver without DCB answers EOPNOTSUPP. CEE, the older dialect, is not read.
"""

from __future__ import annotations

import struct
from typing import Any

from .facts import unknown
from .netlink import RTM_GETDCB, ask, attribute, attributes, u8

CMD_IEEE_GET = 21
ATTR_IFNAME, ATTR_IEEE = 1, 13
IEEE_ETS, IEEE_PFC, IEEE_APP_TABLE, APP_TRUST_TABLE = 1, 2, 3, 11
SELECT_DSCP, SELECT_PCP = 5, 255
ALGORITHMS = {0: "strict", 1: "cbs", 2: "ets", 255: "vendor"}
TRUSTED = {SELECT_DSCP: "dscp", SELECT_PCP: "pcp"}
DSCPS, UNMAPPED = 64, -1
MLX5 = "mlx5_core"

MESSAGE = struct.Struct("=BBxx")
ETS = struct.Struct("=3x8s8x8s8s")
PFC = struct.Struct("=xB")
APP = struct.Struct("=BBH")

NOT_TOLD = "its driver does not tell over DCB"
NO_DSCP = "no DSCP in the kernel's APP table"
NO_TRUST_TABLE = "the driver has no trust table (Linux 6.3 and a driver that offers it)"


def read_dcb(name: str, driver: str) -> dict[str, Any]:
    """The DCB fields of model.netdev.Qos for an interface; raises OSError (EOPNOTSUPP: a driver without DCB)."""
    request = MESSAGE.pack(0, CMD_IEEE_GET) + attribute(ATTR_IFNAME, name.encode() + b"\0")
    bodies = ask(RTM_GETDCB, request)
    return port(bodies[0], driver)


def port(body: bytes, driver: str) -> dict[str, Any]:
    """The fields of one answer. What the kernel leaves out, the driver does not offer."""
    ieee = dict(attributes(dict(attributes(body, MESSAGE.size))[ATTR_IEEE]))
    priorities = dscp_priorities(ieee.get(IEEE_APP_TABLE, b""))
    return {
        "trust": trust(ieee, priorities, driver),
        "dscp_priority": priorities or unknown(NO_DSCP),
        "pfc": _pfc(ieee[IEEE_PFC]) if IEEE_PFC in ieee else unknown(NOT_TOLD),
        **(_ets(ieee[IEEE_ETS]) if IEEE_ETS in ieee else _no_ets()),
    }


def dscp_priorities(table: bytes) -> list[int]:
    """The priority of each of the 64 DSCPs from the APP table, -1 where it has none; empty when it names no DSCP.

    Of several priorities for one DSCP the highest counts (dcb_ieee_getapp_mask's users take the last bit set).
    """
    found: dict[int, int] = {}
    for _kind, value in attributes(table):
        selector, priority, protocol = APP.unpack_from(value)
        if selector == SELECT_DSCP and protocol < DSCPS and priority < 8:
            found[protocol] = max(priority, found.get(protocol, UNMAPPED))
    return [found.get(dscp, UNMAPPED) for dscp in range(DSCPS)] if found else []


def trust(ieee: dict[int, bytes], priorities: list[int], driver: str) -> Any:
    """`dscp` or `pcp`: the first selector of the driver's trust table.

    mlx5 has no such table. Its rule (mlx5e_dcbnl_ieee_setapp and delapp in en_dcbnl.c, and mlnx_qos of mlnx-tools):
    it trusts DSCP exactly as long as the APP table holds a DSCP entry.
    """
    if APP_TRUST_TABLE in ieee:
        for _kind, value in attributes(ieee[APP_TRUST_TABLE]):
            if (selector := u8(value)) in TRUSTED:
                return TRUSTED[selector]
        return unknown("the driver trusts neither DSCP nor PCP")
    if driver == MLX5:
        return "dscp" if priorities else "pcp"
    return unknown(NO_TRUST_TABLE)


def _pfc(value: bytes) -> list[bool]:
    """Whether each priority is protected (struct ieee_pfc: the second byte is a mask)."""
    (mask,) = PFC.unpack_from(value)
    return [bool(mask >> priority & 1) for priority in range(8)]


def _ets(value: bytes) -> dict[str, Any]:
    """struct ieee_ets: percent and algorithm by traffic class, traffic class by priority."""
    percent, algorithm, priority_tc = ETS.unpack_from(value)
    return {
        "priority_tc": list(priority_tc),
        "tc_algorithm": [ALGORITHMS.get(number, f"number {number}") for number in algorithm],
        "tc_percent": list(percent),
    }


def _no_ets() -> dict[str, Any]:
    return dict.fromkeys(("priority_tc", "tc_algorithm", "tc_percent"), unknown(NOT_TOLD))
