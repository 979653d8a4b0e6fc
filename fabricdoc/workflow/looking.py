"""Look at the nodes: scan, and with more than one node the cable map too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabricdoc.fabric import map_cables, scan
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec

Progress = Callable[[str], None]
SCAN_DEADLINE_S = 10.0


def look_once(specs: Sequence[NodeSpec], progress: Progress, *, deadline_s: float = SCAN_DEADLINE_S) -> Fabric:
    """Scan the nodes in parallel; nodes that could not be read are in `failed`."""
    progress(f"looking at {len(specs)} node{'s' if len(specs) != 1 else ''}")
    return scan(specs, deadline_s=deadline_s)


def look(specs: Sequence[NodeSpec], progress: Progress, *, deadline_s: float = SCAN_DEADLINE_S) -> Fabric:
    """Scan, then prove the links when there are at least two nodes."""
    fabric = look_once(specs, progress, deadline_s=deadline_s)
    return with_cables(specs, fabric, progress) if len(specs) > 1 else fabric


def with_cables(specs: Sequence[NodeSpec], fabric: Fabric, progress: Progress) -> Fabric:
    """The same fabric with its links proven, or the reason they could not be."""
    return map_cables(specs, fabric, progress)
