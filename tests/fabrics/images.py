"""Server images for tests of checks: what a scan reads inside them. All values are invented."""

from __future__ import annotations

import hashlib
from typing import Any

from fabricdoc.model.fabric import Fabric, Library, ServerImage
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_straight

IMAGE = "vllm/vllm-openai:v0.20"
ID = "a1" * 32


def server_image(**facts: Any) -> ServerImage:
    """A healthy image for a node with mlx5 HCAs."""
    well: dict[str, Any] = {
        "name": IMAGE,
        "id": ID,
        "os": "Ubuntu 22.04.5 LTS",
        "python": "3.12.3",
        "torch": "2.10.0+cu130",
        "libibverbs": "/usr/lib/aarch64-linux-gnu/libibverbs.so.1.14.39.0",
        "ibverbs_providers": ("libmlx5-rdmav34.so",),
        "libnccl": (nccl("2.30.4"),),
        "nccl_plugins": (),
        "nccl_conf": (),
        "environment": {},
    }
    return ServerImage(**{**well, **facts})


def nccl(version: str, path: str = "/usr/local/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2") -> Library:
    """A libnccl of one build."""
    return Library(path=path, version=version, sha256=hashlib.sha256(version.encode()).hexdigest())


def with_images(fabric: Fabric | None = None, node: str = "*", **facts: Any) -> Fabric:
    """The fabric (a straight Spark pair) whose nodes name that image."""
    return changed(fabric or spark_straight(), node, "node", image=server_image(**facts))
