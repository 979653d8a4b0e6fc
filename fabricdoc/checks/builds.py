"""NCCL and its network plugins on the nodes, held against one another.

The odd one out is named (`majority`). What is good or bad in itself is judged elsewhere. What counts is what will
serve: the libraries of the image that fabric.toml names, else those of the probe's own place (`served`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from pathlib import PurePosixPath

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import split
from fabricdoc.checks.served import naming_images, software
from fabricdoc.checks.variables import variable
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Library, Node, ServerImage
from fabricdoc.model.findings import Finding, Severity

NO_NCCL = Unknown(unknown="no libnccl with a version")
SHOWN_HASH = 12


def check_builds(fabric: Fabric) -> tuple[Finding, ...]:
    """Versions and builds of NCCL, and network plugins, that are not alike on all nodes."""
    serving = fabric.model_copy(update={"nodes": tuple(software(node).node for node in fabric.nodes)})
    found = (*nccl_versions(serving), *nccl_files(serving), *plugins(serving))
    return tuple(naming_images(finding, fabric) for finding in found)


def nccl_versions(fabric: Fabric) -> Iterator[Finding]:
    """nccl-version-mismatch: an error inside images (the server's own library), a warning on hosts.

    Since 2.23.4 NCCL refuses ranks of different versions, before that they hang or read truncated messages.
    """
    found = split((node.name, nccl_version(node)) for node in fabric.nodes)
    if found is not None:
        inside = all(_is_servers_own(node) for node in fabric.nodes)
        yield difference(_nccl_told(fabric, "error" if inside else "warning"), found)


def nccl_version(node: Node) -> Fact[tuple[str, ...]]:
    """Every version of libnccl that is on the node, in the loader's order and once each."""
    versions = tuple(dict.fromkeys(one.version for one in _libraries(node) if isinstance(one.version, str)))
    return versions or NO_NCCL


def _libraries(node: Node) -> tuple[Library, ...]:
    return () if isinstance(node.host.libnccl, Unknown) else node.host.libnccl


def _is_servers_own(node: Node) -> bool:
    """Whether the libraries are where the server will run: in its image, or in the container the probe was in."""
    if isinstance(node.image, ServerImage):
        return True
    return isinstance(node.container.kind, str) and node.container.kind != "none"


def _nccl_told(fabric: Fabric, severity: Severity) -> Told:
    paths = {node.name: [one.path for one in _libraries(node)] for node in fabric.nodes}
    return Told(
        "nccl-version-mismatch",
        severity,
        "NCCL (libnccl.so.2)",
        "Ranks of one job must load one version of NCCL: with two, 2.23.4 and newer refuse to start, older ones hang "
        "or report truncated messages. What counts is the library in the server's own place, an image or a python.",
        lambda one: (
            f"on {one.key}: install NCCL {' and '.join(one.usual)} in place of {', '.join(paths[one.key][:4])}",
            f"or start the server on {one.key} from the image that the other nodes use",
        ),
        ("install one version of NCCL on all nodes, or start the server from one image everywhere",),
        "certain" if severity == "error" else "likely",
        " and ".join,
    )


def nccl_files(fabric: Fabric) -> Iterator[Finding]:
    """nccl-build-differs: one version, yet other files, among nodes of one architecture."""
    alike: dict[Hashable, list[Node]] = defaultdict(list)
    for node in fabric.nodes:
        version = nccl_version(node)
        if not isinstance(version, Unknown) and isinstance(node.host.arch, str):
            alike[node.host.arch, version].append(node)
    for nodes in alike.values():
        found = split((node.name, _hashes(node)) for node in nodes)
        if found is not None:
            yield difference(_FILES, found)


def _hashes(node: Node) -> Fact[tuple[str, ...]]:
    hashes = [one.sha256[:SHOWN_HASH] for one in _libraries(node) if isinstance(one.sha256, str)]
    whole = bool(hashes) and len(hashes) == len(_libraries(node))
    return tuple(dict.fromkeys(hashes)) if whole else Unknown(unknown="a libnccl was not hashed")


_FILES = Told(
    "nccl-build-differs",
    "warning",
    "SHA-256 of libnccl.so.2",
    "The nodes have one version of NCCL in different builds. Builds of one number do behave differently: a wheel and "
    "a package of 2.28.9 did (vLLM issues 41725, 42354), and a development build ran at 3 instead of 24 GB/s.",
    lambda one: (f"on {one.key}: take the libnccl.so.2 of {one.like}, or one image for all nodes",),
    ("install NCCL from one source on all nodes, or use one image",),
    "possible",
    " and ".join,
)


def plugins(fabric: Fabric) -> Iterator[Finding]:
    """net-plugin-mismatch-between-nodes: a network plugin NCCL would load on some of the nodes only."""
    found = split((node.name, net_plugins(node)) for node in fabric.nodes)
    if found is not None:
        inside = all(_is_servers_own(node) for node in fabric.nodes)
        yield difference(_PLUGINS._replace(severity="error" if inside else "warning"), found)


def net_plugins(node: Node) -> Fact[tuple[str, ...]]:
    """File names of the network plugins on the loader's way, sorted; no vote where NCCL_NET_PLUGIN is set."""
    if isinstance(node.host.nccl_plugins, Unknown):
        return node.host.nccl_plugins
    if variable(node, "NCCL_NET_PLUGIN"):
        return Unknown(unknown="NCCL_NET_PLUGIN decides")
    names = (PurePosixPath(one.path).name for one in node.host.nccl_plugins)
    return tuple(sorted({name for name in names if name.startswith("libnccl-net")}))


_PLUGINS = Told(
    "net-plugin-mismatch-between-nodes",
    "warning",
    "network plugins of NCCL",
    "NCCL loads libnccl-net.so by itself where it finds one. A plugin and NCCL's own transport (or two plugins) speak "
    "different protocols: pairs of ranks with different ones hang without an error.",
    lambda one: (
        f"put on {one.key} what the others have ({', '.join(one.usual) or 'no plugin'})",
        "or on every rank: export NCCL_NET_PLUGIN=none",
    ),
    ("on every rank: export NCCL_NET_PLUGIN=none", "or install the same plugin on all nodes"),
    "likely",
    lambda names: ", ".join(names) or "none",
)
