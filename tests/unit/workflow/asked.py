"""Nodes that are asked for, agents that have said hello, and the plan that comes of them; nothing is started."""

from __future__ import annotations

from typing import Any

from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.planning import Prepared, prepare
from fabricdoc.workflow.requests import Request
from tests.fabrics import crossed_pair

SPECS = [NodeSpec("alpha", "netns:11"), NodeSpec("beta", "netns:12")]


class Answered:
    """Agents that have said hello; nothing is started by a plan."""

    def __init__(self, **more: Any) -> None:
        hello = {
            "torch": "2.13.0",
            "nccl": "2.28.9",
            "backends": ["gloo", "nccl"],
            "gpus": 1,
            "environment": {},
            **more,
        }
        self.hello = {"alpha": dict(hello), "beta": dict(hello)}


def prepared(request: Request, **hello: Any) -> Prepared:
    return prepare(request, crossed_pair(), Answered(**hello))  # type: ignore[arg-type]


def spark_hello(version: str = "2.30.7") -> Any:
    agents = Answered(nccl=version)
    agents.hello = {"spark-a": agents.hello["alpha"], "spark-b": agents.hello["beta"]}
    return agents


SPARKS = [NodeSpec("spark-a", "a"), NodeSpec("spark-b", "b")]
