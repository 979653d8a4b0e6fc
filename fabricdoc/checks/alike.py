"""Which RoCE ports of a fabric can be expected to be alike: active ports of HCAs of one model on one kind of board.

No finding comes from here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

from fabricdoc.checks.majority import Place
from fabricdoc.checks.ports import RocePort, roce_ports
from fabricdoc.checks.remembered import remembered
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Hca


class LikePort(NamedTuple):
    """An active port with its place; its slot is the HCA's name."""

    place: Place
    port: RocePort


@remembered
def like_ports(fabric: Fabric) -> list[list[LikePort]]:
    """Active RoCE ports in groups of one model and board; VFs and members of bonds are left out."""
    found: dict[Hashable, list[LikePort]] = defaultdict(list)
    for node in fabric.nodes:
        for one in roce_ports(node):
            if one.hca.physical_function is None and one.netdev.master is None:
                found[_kind(one.hca)].append(LikePort(Place(node.name, one.hca.name), one))
    return list(found.values())


def _kind(hca: Hca) -> Hashable:
    return tuple("" if isinstance(fact, Unknown) else fact for fact in (hca.hca_type, hca.driver, hca.board_id))
