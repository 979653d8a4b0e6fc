"""All pairs by id."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tests.fabrics.ill import Ill, devices, gids, hosts, images, logs, ports, qos, routes, settings

FAMILIES = (settings, gids, ports, hosts, images, routes, devices, logs, qos)
ILL: Mapping[str, Ill] = MappingProxyType({id_: one for family in FAMILIES for id_, one in family.ILL.items()})
