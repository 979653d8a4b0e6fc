"""A node's server image by itself: whether it is there, and the variables it brings held against the node.

What an image sets (ENV, nccl.conf files inside it) was made for some other host: an interface or an HCA that is not on
this one ends the server however right the user's own settings are. Judged by the checks of a node's own variables.
Libraries are `libraries`' and `access`'s; images between nodes are `image_pairs`'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.checks.environment import check_environment
from fabricdoc.checks.gid_pins import check_gid_pins
from fabricdoc.checks.interfaces import check_interfaces
from fabricdoc.checks.selection import check_selection
from fabricdoc.checks.served import images_of, label, software
from fabricdoc.checks.ucx import check_ucx
from fabricdoc.checks.wording import of_nodes, seen
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

ABSENT = "knows no such image"
"""The words of `fabric.image` where the runtime has none of that name."""
UNASKED = re.compile(r"permission denied|cannot connect|daemon running|connection refused", re.IGNORECASE)
"""What a client says that could not ask its daemon."""
OF_VARIABLES = (check_environment, check_interfaces, check_selection, check_gid_pins, check_ucx)
WINS = "what --env or --env-file sets when the server is started wins over what its image sets"


def check_images(fabric: Fabric) -> tuple[Finding, ...]:
    """Images that could not be looked into, and variables of those that could."""
    return (*of_nodes(fabric, unread), *baked(fabric))


def unread(node: Node) -> Iterator[Finding]:
    """An image that fabric.toml names and this node does not have, or that has no python to look with."""
    image = node.image
    if not isinstance(image, Unknown) or image == NOT_READ:
        return
    absent = ABSENT in image.unknown and not UNASKED.search(image.unknown)
    yield Finding(
        id="server-image-missing" if absent else "server-image-not-read",
        severity="warning" if absent else "info",
        subject=node.name,
        evidence=seen(node, image.unknown),
        cause="This node does not have the image that fabric.toml names: a server's start would pull it first, "
        "and it may be another build than the one on the other nodes."
        if absent
        else "It was not possible to look into the image that fabric.toml names, so nothing is said of the libraries "
        "and variables its server would have.",
        fix=(f"on {node.name}: docker pull the image, or correct its name in fabric.toml",)
        if absent
        else (
            f"on {node.name}: docker image ls must work for the user that scans",
            "an image is read with its own python3 (3.10 or later), by docker or podman",
        ),
        confidence="likely",
    )


def baked(fabric: Fabric) -> Iterator[Finding]:
    """Findings of the node's own checks that a variable of its image causes."""
    images = images_of(fabric)
    own = [software(node).node for node in fabric.nodes if node.name in images]
    nodes = [node for node in own if _sets_any(node)]
    if not nodes:
        return
    others = [node for node in fabric.nodes if node.name != nodes[0].name][: len(nodes) == 1]
    serving = fabric.model_copy(update={"nodes": (*nodes, *others)})  # some checks need to know that there are others
    for check in OF_VARIABLES:
        for found in check(serving):
            node = found.evidence[0].file
            if node in images and _is_named(images[node].name, found):
                yield of_image(found, node, images[node].name)


def _is_named(image: str, found: Finding) -> bool:
    """Whether its evidence names this image, and not one whose name only begins like it."""
    whole = re.compile(rf"{re.escape(label(image))}(?![\w./@-]|:\w)")
    return any(whole.search(piece.text) for piece in found.evidence)


def _sets_any(node: Node) -> bool:
    files = node.host.nccl_conf
    return not isinstance(files, Unknown) and any(file.values for file in files)


def of_image(found: Finding, node: str, image: str) -> Finding:
    """The finding in words for an image: what a shell on the node exports or unsets does not reach its server."""
    fix = [
        re.sub(rf"^on {re.escape(node)}: unset ", f"start the server on {node} without ", line)
        for line in (one.replace(f"on {node}: export ", f"start the server on {node} with --env ") for one in found.fix)
    ]
    cause = found.cause.replace(f"file {label(image)}", label(image))
    return found.model_copy(
        update={"subject": f"{found.subject} ({label(image)})", "cause": cause, "fix": (*fix, WINS)}
    )
