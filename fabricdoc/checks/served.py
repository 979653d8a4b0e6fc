"""The libraries and variables that a node's server would have: those of its image where fabric.toml names one.

The build that will serve counts, not the host's: a host that starts servers from an image needs no NCCL of its own.
Where an image is named but could not be read, nothing is known of its libraries. No finding comes from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fabricdoc.checks.remembered import remembered
from fabricdoc.checks.wording import seen
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import ConfFile, Fabric, Host, Node, ServerImage
from fabricdoc.model.findings import Evidence, Finding

LIBRARIES = ("torch", "libibverbs", "ibverbs_providers", "libnccl", "nccl_plugins")
"""Fields that a host and an image share and that say what a process would load."""


class Software(NamedTuple):
    """A node whose host has the libraries and variables of its server, and the name of the image they are from."""

    node: Node
    image: str = ""

    @property
    def where(self) -> str:
        """ "on spark-a", or "in image vllm/vllm-openai:v0.20"."""
        return f"in image {self.image}" if self.image else f"on {self.node.name}"

    def seen(self, *texts: str) -> tuple[Evidence, ...]:
        """Evidence of the node; the image comes first where there is one."""
        return seen(self.node, *([label(self.image)] if self.image else []), *texts)


def label(image: str) -> str:
    """How an image is named in evidence: image vllm/vllm-openai:v0.20."""
    return f"image {image}"


def software(node: Node) -> Software:
    """What the server of this node would load. Its variables are then files of the image, the first one ENV's."""
    image = node.image
    if isinstance(image, ServerImage):
        return Software(_inside(node), image.name)
    if image != NOT_READ:
        return Software(_with_host(node, dict.fromkeys(LIBRARIES, Unknown(unknown="the image was not read"))))
    return Software(node)


@remembered
def _inside(node: Node) -> Node:
    """The node with its image's facts: one object however often it is asked, so that checks remember what they know."""
    assert isinstance(node.image, ServerImage)
    own: dict[str, Any] = {name: getattr(node.image, name) for name in LIBRARIES}
    return _with_host(node, own | {"environment": {}, "nccl_conf": _settings(node.image)})


def _with_host(node: Node, facts: Mapping[str, Any]) -> Node:
    host: Host = node.host.model_copy(update=dict(facts))
    return node.model_copy(update={"host": host})


def _settings(image: ServerImage) -> tuple[ConfFile, ...]:
    """The image's variables, then its nccl.conf files, each named as the image's: in the order in which they win."""
    files = () if isinstance(image.nccl_conf, Unknown) else image.nccl_conf
    named = label(image.name)
    baked = ConfFile(path=named, values=image.environment)
    return (baked, *(ConfFile(path=f"{named}:{one.path}", values=one.values) for one in files))


def images_of(fabric: Fabric) -> dict[str, ServerImage]:
    """Node -> its image, of the nodes whose image was read."""
    return {node.name: node.image for node in fabric.nodes if isinstance(node.image, ServerImage)}


def naming_images(finding: Finding, fabric: Fabric) -> Finding:
    """The same finding; evidence of a node whose libraries are an image's names that image."""
    images = images_of(fabric)
    named = (
        one.model_copy(update={"text": f"{label(images[one.file].name)}: {one.text}"}) if one.file in images else one
        for one in finding.evidence
    )
    return finding.model_copy(update={"evidence": tuple(named)}) if images else finding
