"""Findings of the images that servers start from, as fabric.toml names them."""

from __future__ import annotations

from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import ServerImage
from tests.fabrics.ill import Alter, Ill, both, nccl, put
from tests.fabrics.spark import spark_one_cable

A, B = "spark-a", "spark-b"
NAME = "vllm/vllm-openai:v0.20"


def image(node: str, fact: Fact[ServerImage]) -> Alter:
    return put(node, "node", image=fact)


def of(digit: str) -> ServerImage:
    """An image with this id and one NCCL."""
    return ServerImage(name=NAME, id=digit * 64, torch="2.11.0", libnccl=nccl("2.30.7"))


ILL = {
    "server-image-missing": Ill(
        spark_one_cable,
        image(A, Unknown(unknown=f"docker knows no such image: {NAME}")),
        image(A, Unknown(unknown=f"{NAME} has no python3")),
    ),
    "server-image-not-read": Ill(
        spark_one_cable, image(A, Unknown(unknown=f"{NAME} has no python3")), image(A, NOT_READ)
    ),
    "server-image-differs": Ill(
        spark_one_cable, both(image(A, of("a")), image(B, of("b"))), both(image(A, of("a")), image(B, of("a")))
    ),
}
