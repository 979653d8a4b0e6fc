"""The images that the nodes' servers are started from, held against one another by their ids.

One id is one image. Two ids may be one content (the image stores of docker number differently): a difference that
nothing read inside them shows is information. The NCCL inside is `builds`'.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import split
from fabricdoc.checks.served import images_of, naming_images, software
from fabricdoc.checks.settings_pairs import check_settings_pairs
from fabricdoc.model.fabric import Fabric, ServerImage
from fabricdoc.model.findings import Evidence, Finding, Severity

SHOWN_ID = 12
FACTS = tuple(name for name in ServerImage.model_fields if name not in ("name", "id"))


def check_image_pairs(fabric: Fabric) -> tuple[Finding, ...]:
    """Images of nodes of one architecture that are not one image, and variables of images that differ."""
    return (*other_images(fabric), *other_variables(fabric))


def other_images(fabric: Fabric) -> Iterator[Finding]:
    """server-image-differs: a warning where what was read inside differs, else information."""
    images = images_of(fabric)
    alike: dict[str, list[str]] = defaultdict(list)
    for node in fabric.nodes:
        if node.name in images and isinstance(node.host.arch, str):
            alike[node.host.arch].append(node.name)
    for nodes in alike.values():
        found = split((name, images[name].id) for name in nodes)
        if found is not None:
            group = {name: images[name] for name in nodes}
            facts = differing(group)
            told = difference(_told(group, "warning" if facts else "info"), found)
            said = f"what differs inside: {', '.join(facts) or 'nothing that was read'}"
            evidence = (*told.evidence, Evidence(file=told.evidence[-1].file, text=said))
            yield told.model_copy(update={"evidence": evidence})


def differing(images: Mapping[str, ServerImage]) -> list[str]:
    """The facts that are not equal in all images."""
    listed = list(images.values())
    return [name for name in FACTS if any(getattr(one, name) != getattr(listed[0], name) for one in listed)]


def _told(images: Mapping[str, ServerImage], severity: Severity) -> Told:
    names = {one.id: one.name for one in images.values() if isinstance(one.id, str)}
    return Told(
        "server-image-differs",
        severity,
        "image",
        "The servers of these nodes would not start from one image. Ranks with different builds of NCCL or torch "
        "refuse one another, hang or report truncated messages; a tag like latest moves between two pulls.",
        lambda one: (f"on {one.key}: docker pull {names[one.usual]}, or copy it from {one.like} (docker save, load)",),
        ("start all servers from one image, named by its digest (NAME@sha256:...) in fabric.toml",),
        "likely",
        lambda id: f"{names.get(id, '')} ({id[:SHOWN_ID]})",
    )


def other_variables(fabric: Fabric) -> Iterator[Finding]:
    """env-differs-between-ranks, where an image's own variables make the difference."""
    images = images_of(fabric)
    serving = fabric.model_copy(
        update={"nodes": tuple(software(one).node for one in fabric.nodes if one.name in images)}
    )
    for found in check_settings_pairs(serving) if len(images) > 1 else ():
        yield naming_images(found, fabric)
