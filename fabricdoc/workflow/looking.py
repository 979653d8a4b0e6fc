"""Look at the nodes: scan, and with more than one node the cable map too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabricdoc.fabric import scan
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import Asking, NodeSpec

Progress = Callable[[str], None]


def look_deeply(
    specs: Sequence[NodeSpec],
    progress: Progress,
    begun: Asking | None = None,
    *,
    watch_s: float = 0.0,
    lldp: bool = False,
) -> Fabric:
    """As `look`, and inside the images that fabric.toml names; the first time, that starts a container for a moment.

    Findings are made again then: what a server of the image would load counts before what the host has.
    """
    fabric = look(specs, progress, begun, watch_s=watch_s, lldp=lldp)
    if not any(spec.image for spec in specs):
        return fabric
    from fabricdoc.checks import judged
    from fabricdoc.fabric import with_images

    return judged(with_images(specs, fabric, progress))


def look_once(
    specs: Sequence[NodeSpec],
    progress: Progress,
    begun: Asking | None = None,
    *,
    watch_s: float = 0.0,
    judge: bool = True,
) -> Fabric:
    """Scan the nodes in parallel; nodes that could not be read are in `failed`. `watch_s` lie between two counters."""
    watching = f", watching their counters for {watch_s:g} s" if watch_s else ""
    progress(f"looking at {len(specs)} node{'s' if len(specs) != 1 else ''}{watching}")
    return scan(specs, begun=begun, watch_s=watch_s, judge=judge)


def look(
    specs: Sequence[NodeSpec],
    progress: Progress,
    begun: Asking | None = None,
    *,
    watch_s: float = 0.0,
    lldp: bool = False,
) -> Fabric:
    """Scan (or take the scan that has begun), then prove the links when there are at least two nodes.

    With `lldp` every node also listens for LLDP, for 30 s between the two.
    """
    several = len(specs) > 1
    fabric = look_once(specs, progress, begun, watch_s=watch_s, judge=not several)
    if lldp:
        from fabricdoc.fabric import hear_lldp

        fabric = hear_lldp(specs, fabric, progress)
    return with_cables(specs, fabric, progress) if several else fabric


def with_cables(specs: Sequence[NodeSpec], fabric: Fabric, progress: Progress) -> Fabric:
    """The same fabric with its links proven, or the reason they could not be."""
    from fabricdoc.fabric import map_cables

    return map_cables(specs, fabric, progress)
