"""The libraries a node's server would load: libibverbs' drivers, NCCL, its plugins.

Those of the image that fabric.toml names where it was read, else those of a process started on the node (`served`); a
host that starts its server from an image needs none. Between nodes nothing is compared here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from fabricdoc.checks.gpudirect import gpus_of
from fabricdoc.checks.limits import checks_data
from fabricdoc.checks.platforms import is_gb10
from fabricdoc.checks.ports import roce_ports
from fabricdoc.checks.served import Software, software
from fabricdoc.checks.variables import variable
from fabricdoc.checks.wording import plain
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Library, Node
from fabricdoc.model.findings import Finding

NET_PLUGIN = "libnccl-net"
GID_CHOICE = (2, 21, 5)
"""NCCL chooses a GID by itself from this version on; before it takes index 0 (NCCL src/transport/net_ib.cc)."""


def check_libraries(fabric: Fabric) -> tuple[Finding, ...]:
    """Missing drivers of libibverbs, NCCL builds that are known for something, several of them, plugins."""
    checks: tuple[Callable[[Software], Iterator[Finding]], ...] = (
        missing_provider, known_builds, without_gid_choice, several, no_libnccl, plugins,
    )  # fmt: skip
    return tuple(finding for one in map(software, fabric.nodes) for check in checks for finding in check(one))


def missing_provider(place: Software) -> Iterator[Finding]:
    """libibverbs loads, but has no library for the driver of an HCA: it finds no device, and NCCL takes TCP."""
    node = place.node
    have = node.host.ibverbs_providers
    if isinstance(have, Unknown) or isinstance(node.host.libibverbs, Unknown):
        return
    known: dict[str, str] = checks_data("libraries")["providers"]
    ports = reversed(roce_ports(node))
    needed = {one.hca.driver: one.hca.name for one in ports if isinstance(one.hca.driver, str)}
    for driver, hca in needed.items():
        wanted = known.get(driver)
        if wanted and not any(PurePosixPath(one).name.startswith(wanted) for one in have):
            yield Finding(
                id="ibverbs-provider-missing",
                severity="error",
                subject=f"{node.name}/{hca}",
                evidence=place.seen(f"{hca} driver {driver} needs {wanted}", f"providers: {', '.join(have) or 'none'}"),
                cause=f"The library libibverbs is there, but not its part for {driver}: it shows no device, so NCCL "
                "finds none and runs over TCP without a warning.",
                fix=(
                    f"{place.where}: add to its Dockerfile",
                    "RUN apt-get update && apt-get install -y ibverbs-providers",
                )
                if place.image
                else (f"on {node.name}, and in the server's image:", "sudo apt-get install ibverbs-providers"),
            )


def libraries_of(node: Node) -> tuple[Library, ...]:
    """The libnccl files found, on nodes with usable HCAs; none where that is unknown."""
    found = node.host.libnccl
    return () if isinstance(found, Unknown) or not found or not roce_ports(node) else found


def release_of(library: Library) -> tuple[int, int, int] | None:
    """Its version as numbers, None where it is unknown or no version."""
    from fabricdoc.nccl import parse_release

    return None if isinstance(library.version, Unknown) else parse_release(library.version)


def known_builds(place: Software) -> Iterator[Finding]:
    """Builds that presets/checks/libraries.toml knows something about, the library found first."""
    node = place.node
    for library in libraries_of(node)[:1]:
        for row in checks_data("libraries")["nccl"]:
            if _fits(node, library, row):
                yield Finding(
                    id=row["finding"],
                    severity=row["severity"],
                    subject=f"{node.name}: NCCL {library.version}",
                    evidence=place.seen(f"{library.path}: {library.version} (told for {row['versions']})"),
                    cause=row["cause"],
                    fix=(f"{place.where}: {row['better']}",),
                    confidence="possible",
                )


def _fits(node: Node, library: Library, row: dict[str, Any]) -> bool:
    from fabricdoc.nccl import parse_conditions, satisfies

    release, conditions = release_of(library), parse_conditions(row["versions"])
    if release is None or conditions is None or ("gb10" in row["platforms"] and not is_gb10(node)):
        return False
    return satisfies(release, conditions)


def without_gid_choice(place: Software) -> Iterator[Finding]:
    """NCCL before 2.21.5 takes GID index 0, which is RoCE v1 and link-local on most nodes, unless told otherwise."""
    node = place.node
    if variable(node, "NCCL_IB_GID_INDEX"):
        return
    for library in libraries_of(node)[:1]:
        release = release_of(library)
        first = [gid for one in roce_ports(node) for gid in _gids(one.port.gids) if gid.index == 0]
        bad = [gid for gid in first if gid.ipv4 is None or gid.type != "RoCE v2"]
        if release is not None and release < GID_CHOICE and bad:
            yield Finding(
                id="nccl-without-gid-choice",
                severity="warning",
                subject=f"{node.name}: NCCL {library.version}",
                evidence=place.seen(
                    f"{library.path}: {library.version}, below 2.21.5",
                    *(f"GID 0 {gid.gid} {plain(gid.type)}" for gid in bad[:8]),
                ),
                cause="NCCL before 2.21.5 does not look for a GID and takes index 0, here no RoCE v2 address: it can't "
                "be routed or prioritised, and connecting fails where the peer's index 0 is of another kind.",
                fix=("install NCCL 2.21.5 or newer on every node, which chooses by itself",),
                confidence="likely",
            )


def _gids(gids: Any) -> tuple[Any, ...]:
    return () if isinstance(gids, Unknown) else gids


def several(place: Software) -> Iterator[Finding]:
    """More than one build of libnccl: information, since which one a server loads depends on how it is started."""
    node = place.node
    found = libraries_of(node)
    builds = {str(one.sha256) if isinstance(one.sha256, str) else str(one.version) for one in found}
    if len(builds) > 1:
        yield Finding(
            id="libnccl-several",
            severity="info",
            subject=node.name,
            evidence=place.seen(*(f"{one.path}: {plain(one.version)}" for one in found[:8])),
            cause=f"There are several builds of NCCL {place.where}. What a process started there loads is the first; "
            "torch from a wheel brings its own, and a node that loads another build than its peer fails or hangs.",
            fix=(f"on {node.name}: in the server's log, compare 'NCCL version' of all ranks",),
        )


def no_libnccl(place: Software) -> Iterator[Finding]:
    """No libnccl where torch and GPUs are: this torch was built for the CPU. In an image torch may be hidden too."""
    node = place.node
    found, torch = node.host.libnccl, node.host.torch
    if isinstance(found, Unknown) or found or not gpus_of(node) or not roce_ports(node):
        return
    if isinstance(torch, Unknown) and not place.image:
        return
    ask = 'python3 -c "import torch; print(torch.cuda.nccl.version())"'
    inside = f"docker run --rm --entrypoint python3 {shlex.quote(place.image)} {ask.removeprefix('python3 ')}"
    yield Finding(
        id="libnccl-missing",
        severity="warning",
        subject=node.name,
        evidence=place.seen(
            f"torch {plain(torch)}", "libnccl.so.2: not on the loader's way, not among python's packages"
        ),
        cause="No NCCL is found where the server would run: its torch is a build for the CPU, or one whose NCCL was "
        "linked in, or lies in a python of its own. Ranks started so may not be able to use the backend 'nccl'.",
        fix=(f"on {node.name}: {inside if place.image else ask}",),
        confidence="possible",
    )


def plugins(place: Software) -> Iterator[Finding]:
    """Network plugins that NCCL loads by itself: information, unless NCCL_NET_PLUGIN says what to do."""
    node = place.node
    found = node.host.nccl_plugins
    if isinstance(found, Unknown) or variable(node, "NCCL_NET_PLUGIN") or not roce_ports(node):
        return
    nets = [one for one in found if PurePosixPath(one.path).name.startswith(NET_PLUGIN)]
    if nets:
        yield Finding(
            id="net-plugin-found",
            severity="info",
            subject=node.name,
            evidence=place.seen(*(one.path for one in nets[:8])),
            cause="NCCL loads libnccl-net.so by itself where it finds it, in place of its own RoCE transport. A plugin "
            "of another kind of network (EFA, InfiniBand with SHARP) may slow RoCE down or find no device.",
            fix=("NCCL_NET_PLUGIN=none on all ranks, unless the plugin is wanted (on all nodes the same)",),
        )
