"""What is inside a server's image: read once per image id, in a throw-away container without GPU or network.

The scan probe runs there as it does on a node, so python, torch, NCCL, libibverbs and the variables the image sets are
those a server of that image would meet. Facts of the machine around it (devices, memory, kernel) say nothing about the
image. Never pulls an image and never starts what the image is made to start.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from fabricdoc.errors import InputError, NodeError
from fabricdoc.fabric.failing import standing
from fabricdoc.fabric.hurry import at_most
from fabricdoc.fabric.report import read_report
from fabricdoc.files import cache_folder, parse_json, read_text
from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Fabric, Host, NodeReport, ServerImage
from fabricdoc.sudo import give_away, sudo_owner
from fabricdoc.transport import NodeSpec, ask, output_of, probe_zip

Runtime = Literal["docker", "podman"]
RUNTIMES: tuple[Runtime, ...] = ("docker", "podman")

INSPECT_DEADLINE_S = 10.0
READ_DEADLINE_S = 60.0
PROBE_SHARE = 0.7
MAX_CACHED = 4 << 20
NEVER_READ = "not looked into yet: fabricdoc scan does it once, in a container"
_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_RUN = ("run", "--rm", "-i", "--pull=never", "--network=none", "--label=fabricdoc", "--entrypoint=python3", "--")


def with_images(
    specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None], *, start: bool = True
) -> Fabric:
    """`fabric` with the facts of the image of every node that names one, or why they could not be read.

    Without `start` no container is started: an image that was never looked into stays unknown.
    """
    named = {spec.name: spec for spec in standing(specs, fabric) if spec.image}
    nodes = []
    for node in fabric.nodes:
        if node.name in named:
            if start:
                progress(f"looking into image {named[node.name].image} on {node.name}: once, then it is remembered")
            node = node.model_copy(update={"image": server_image(named[node.name], start=start)})
        nodes.append(node)
    return fabric.model_copy(update={"nodes": tuple(nodes)}) if named else fabric


def server_image(node: NodeSpec, *, cache: Path | None = None, start: bool = True) -> Fact[ServerImage]:
    """What matters of `image_facts`, by the first runtime of the node that has the image."""
    failed: list[Unknown] = []
    for runtime in RUNTIMES:
        found = _facts(node, runtime, cache, start=start)
        if not isinstance(found, Unknown):
            id, host = found[0], found[1].host
            facts = {name: getattr(host, name) for name in ServerImage.model_fields if name in Host.model_fields}
            return ServerImage(name=node.image, id=id, **facts)
        failed.append(found)
    return failed[0]


def image_facts(node: NodeSpec, runtime: Runtime = "docker", *, cache: Path | None = None) -> Fact[NodeReport]:
    """The report of the scan probe inside `node.image`, from the cache or from one container on that node.

    `cache` is the folder to keep it in (default: fabricdoc/images in the user's cache folder). Unknown, with the
    reason, where the node names no image, has no such runtime or image, or the image has no python3 of 3.10 or later.
    """
    found = _facts(node, runtime, cache)
    return found if isinstance(found, Unknown) else found[1]


def _facts(node: NodeSpec, runtime: Runtime, cache: Path | None, *, start: bool = True) -> Fact[tuple[str, NodeReport]]:
    """The image's id and the report inside it."""
    if not node.image:
        return Unknown(unknown=f"{node.name} names no image")
    try:
        image = image_id(node, runtime)
        kept = (cache or images_folder()) / f"{image}-{_probe()}.json"
        known = _cached(node, kept)
        if known is None and not start:
            return Unknown(unknown=f"{node.image}: {NEVER_READ}")
        return image, known or _fresh(node, runtime, kept)
    except NodeError as error:
        return Unknown(unknown=f"{node.image}: {error.message}")


def image_id(node: NodeSpec, runtime: Runtime) -> str:
    """The image's id on the node, 64 hex digits. Raises NodeError where it has none."""
    argv = (runtime, "image", "inspect", "--format", "{{.Id}}", "--", node.image)
    said = output_of(node, argv, deadline_s=at_most(INSPECT_DEADLINE_S))
    found = _ID.fullmatch(said.stdout.strip())
    if said.status != 0 or found is None:
        why = " ".join((said.stderr or said.stdout).split())[:200] or f"it ended with status {said.status}"
        raise NodeError(f"{node.name}: {runtime} knows no such image: {why}", id="image-missing")
    return found[1]


def run_argv(runtime: Runtime, image: str) -> tuple[str, ...]:
    """The command that gives an image's python3 the words after it, in a container that is gone when it ends."""
    return (runtime, *_RUN, image)


def images_folder() -> Path:
    """fabricdoc/images in the user's cache folder (under sudo: the calling user's)."""
    owner = sudo_owner()
    own = owner.home / ".cache" / "fabricdoc" if owner else cache_folder()
    return (own or Path("/nonexistent/.cache/fabricdoc")) / "images"


def _probe() -> str:
    """Which probe it was: another version may know more facts."""
    return hashlib.sha256(probe_zip("scan")).hexdigest()[:12]


def _fresh(node: NodeSpec, runtime: Runtime, kept: Path) -> NodeReport:
    """Read the image in a container, and keep what it said. Raises NodeError."""
    request = {"do": "scan", "deadline_s": READ_DEADLINE_S * PROBE_SHARE, "cuda": False, "hash": True}
    inside = run_argv(runtime, node.image)
    (answer,) = ask([node], "scan", request, deadline_s=READ_DEADLINE_S, inside=inside)
    if answer.error is not None:
        raise answer.error
    message = answer.message or {}
    report = _read(node, message.get("report"))
    _keep(kept, json.dumps(message["report"]))
    return report


def _cached(node: NodeSpec, kept: Path) -> NodeReport | None:
    """What was kept of this image, None where nothing was or it is no valid report any more."""
    try:
        return _read(node, parse_json(read_text(kept, "the cache", limit=MAX_CACHED)))
    except (InputError, NodeError, ValueError):
        return None


def _read(node: NodeSpec, raw: object) -> NodeReport:
    found = read_report(node.name, node.target, raw)
    return NodeReport(**{name: getattr(found, name) for name in NodeReport.model_fields})


def _keep(kept: Path, text: str) -> None:
    """Write it whole or not at all; a folder that can't be written costs only the cache."""
    try:
        for folder in (kept.parent.parent, kept.parent):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, parents=True)
                give_away(folder)
        part = kept.with_name(f".{kept.name}.{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.chmod(0o600)
        give_away(part)
        part.replace(kept)
    except OSError:
        return
