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
    tcp_ports: Sequence[int] = (),
) -> Fabric:
    """As `look`, and inside the images that fabric.toml names; the first time, that starts a container for a moment.

    Images are read before the links are proven, so that everything is judged once and by what a server would load.
    """
    images = any(spec.image for spec in specs)
    return look(specs, progress, begun, watch_s=watch_s, lldp=lldp, images=images, tcp_ports=tcp_ports)


def look_once(
    specs: Sequence[NodeSpec],
    progress: Progress,
    begun: Asking | None = None,
    *,
    watch_s: float = 0.0,
    judge: bool = True,
    hashed: bool = False,
) -> Fabric:
    """Scan the nodes in parallel; nodes that could not be read are in `failed`. `watch_s` lie between two counters.

    `hashed` also takes the SHA-256 of each libnccl, by which a preset holds the file that was measured.
    """
    watching = f", watching their counters for {watch_s:g} s" if watch_s else ""
    progress(f"looking at {len(specs)} node{'s' if len(specs) != 1 else ''}{watching}")
    return scan(specs, begun=begun, watch_s=watch_s, judge=judge, hashed=hashed)


def look(
    specs: Sequence[NodeSpec],
    progress: Progress,
    begun: Asking | None = None,
    *,
    watch_s: float = 0.0,
    lldp: bool = False,
    images: bool = False,
    tcp_ports: Sequence[int] = (),
    hashed: bool = False,
) -> Fabric:
    """Scan (or take the scan that has begun), then prove the links when there are at least two nodes.

    Between the two, with `lldp` every node also listens for LLDP, for 30 s, and with `images` the servers' images are
    looked into. The checks run once, when all is known. `tcp_ports` are those that the launcher will use.
    `hashed` as `look_once` says.
    """
    several = len(specs) > 1
    fabric = look_once(specs, progress, begun, watch_s=watch_s, judge=not (several or lldp or images), hashed=hashed)
    if lldp:
        from fabricdoc.fabric import hear_lldp

        fabric = hear_lldp(specs, fabric, progress)
    if images:
        from fabricdoc.fabric import with_images

        fabric = with_images(specs, fabric, progress)
    if several:
        return with_cables(specs, fabric, progress, tcp_ports)
    return _judged(fabric) if lldp or images else fabric


def _judged(fabric: Fabric) -> Fabric:
    from fabricdoc.checks import judged

    return judged(fabric)


def with_cables(specs: Sequence[NodeSpec], fabric: Fabric, progress: Progress, tcp_ports: Sequence[int] = ()) -> Fabric:
    """The same fabric with its links proven, or the reason they could not be."""
    from fabricdoc.fabric import every_kind, map_cables

    return map_cables(specs, fabric, progress, every_kind(tcp_ports))
