"""The network lines of the `.env` of MiaAI-Lab's two-Spark recipes (start.sh): head and worker in one file.

start.sh sources it with bash, demands IFACE, IB_HCA and IB_GID_INDEX, takes WORKER_IFACE and WORKER_IB_HCA where the
nodes' names differ, and puts them unquoted into `docker run -e` on both nodes. IB_GID_INDEX may not be empty; -1 is
NCCL's own choice. Its EXTRA_DOCKER_ARGS reaches no container, so everything else goes by /etc/nccl.conf in the image.
"""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.comments import comment, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.places import interface, value_of
from fabricdoc.export.rules import PLAIN, not_plain
from fabricdoc.model.preset import NodePreset

READERS = ("MiaAI-Lab start.sh",)
WRITTEN = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
ITS_OWN = ("NCCL_DEBUG", "NCCL_IB_DISABLE")
"""Variables start.sh sets by -e itself: they beat nccl.conf."""


def write(content: Content) -> str:
    """The lines."""
    if len(content.preset.nodes) != 2:
        raise UsageError(
            f"start.sh serves on two nodes, and preset {content.preset.name} has {len(content.preset.nodes)}",
            fix="use --format docker-env or --format bash",
            id="two-nodes",
        )
    first, second = content.preset.nodes
    lines = head(content, "into the .env beside start.sh, in place of the lines of these names")
    for prefix, node in (("", first), ("WORKER_", second)):
        netdev, hcas = _ports(node)
        lines += comment(f"{node.name}: {netdev} and its HCAs")
        lines += [f"{prefix}IFACE={netdev}", f"{prefix}IB_HCA={hcas}"]
    lines += [*comment("-1 lets NCCL choose; start.sh refuses an empty value"), f"IB_GID_INDEX={_gid(first, second)}"]
    return "\n".join([*lines, *_rest(content)]) + "\n"


def _ports(node: NodePreset) -> tuple[str, str]:
    netdev, hcas = interface(node), value_of(node, "NCCL_IB_HCA")
    if not netdev or not hcas or not PLAIN.match(netdev):
        raise UsageError(
            f"preset has no NCCL_IB_HCA or no interface for {node.name}, and start.sh needs both",
            fix="measure over RDMA ports, or use --format bash",
            id="no-hca",
        )
    return netdev, hcas


def _gid(first: NodePreset, second: NodePreset) -> str:
    """The pinned index where the preset pins one for both nodes, which share the recipe's one line; else -1."""
    values = {value_of(node, "NCCL_IB_GID_INDEX") for node in (first, second)}
    if len(values) > 1:
        raise UsageError(
            "the nodes' NCCL_IB_GID_INDEX differ, and start.sh has one line for both",
            fix="take it out of the preset: NCCL 2.21 and later choose by themselves",
            id="one-gid-index",
        )
    return values.pop() or "-1"


def rest(content: Content) -> tuple[str, ...]:
    """The variables that start.sh has no line for."""
    names = (line.name for node in content.preset.nodes for line in node.lines)
    return tuple(dict.fromkeys(name for name in names if name not in WRITTEN))


def _rest(content: Content) -> list[str]:
    names = rest(content)
    if not names:
        return []
    lines = comment(
        f"not here: {', '.join(names)}. start.sh passes no others (EXTRA_DOCKER_ARGS reaches no container);"
    )
    lines += comment(
        "--format nccl-conf --node common > common.nccl.conf; and build the image of both nodes from these:"
    )
    lines += ["#   FROM THE_IMAGE_OF_THE_RECIPE", "#   COPY common.nccl.conf /etc/nccl.conf"]
    if apart := [name for name in names if name in content.differing]:
        lines += comment(f"{', '.join(apart)}: not the same on both nodes, which one image can't hold")
    own = [name for name in names if name in ITS_OWN]
    return lines + (comment(f"{', '.join(own)}: start.sh sets it itself, which beats nccl.conf") if own else [])


FORMAT = Format(
    "miaai",
    READERS,
    "all",
    "miaai.env",
    not_plain,
    write,
    left_out=rest,
    elsewhere="start.sh has no line for them: --format nccl-conf, copied into the image as /etc/nccl.conf",
)
