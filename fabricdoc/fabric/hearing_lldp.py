"""Listening for LLDP on request: every node's ports for 30 s at once, by the `lldp` probe. Sends nothing.

What was heard becomes a fact of the node, beside what an lldpd told; what it means is `lldp`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from fabricdoc.errors import NodeError
from fabricdoc.fabric.beacons import usable_ports
from fabricdoc.fabric.crew import Crew
from fabricdoc.fabric.failing import standing, with_failed
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, LldpNeighbour, Node
from fabricdoc.transport import NodeSpec, open_some

LISTEN_S = 30.0
ANSWER_S = 20.0
PROBE = "the LLDP probe"
MOST = 4096
LONGEST = 255
Answers = Mapping[str, Any]


def hear_lldp(
    specs: Sequence[NodeSpec], fabric: Fabric, progress: Callable[[str], None], seconds: float = LISTEN_S
) -> Fabric:
    """The fabric after `seconds` of listening on all ports with carrier of every node; needs CAP_NET_RAW there.

    What lldpd told stays. A node that may not listen and has no lldpd gets the reason; one whose probe fails is in
    `failed` too.
    """
    present = standing(specs, fabric)
    progress(f"listening for LLDP for {seconds:g} s on {len(present)} node{'s' if len(present) != 1 else ''}")
    heard, failed = _answers(present, fabric.nodes, seconds) if present else ({}, {})
    nodes = tuple(with_heard(node, heard.get(node.name)) for node in fabric.nodes)
    return with_failed(fabric.model_copy(update={"nodes": nodes}), failed)


def _answers(
    specs: Sequence[NodeSpec], nodes: Sequence[Node], seconds: float
) -> tuple[dict[str, Any], dict[str, NodeError]]:
    """By node, its neighbours as the probe tells them, or why there are none; and the nodes whose probe failed."""
    ports = {node.name: list(usable_ports(node)) for node in nodes}
    channels, failed = open_some(specs, "lldp")
    with channels:
        crew = Crew(channels, failed, PROBE)
        crew.tell({name: {"do": "hear", "ports": ports[name], "seconds": seconds} for name in crew.names})
        said = crew.answers("result", crew.names, seconds + ANSWER_S)
    lost = {name: error for name, error in crew.failed.items() if name not in said}
    reasons = {name: {"unknown": error.message} for name, error in lost.items()}
    return reasons | {name: told.get("lldp", {"unknown": "no answer"}) for name, told in said.items()}, lost


def with_heard(node: Node, said: Any) -> Node:
    """The node with what its probe said: {"unknown": reason} or a list; anything else is refused with a reason."""
    if said is None:
        return node
    try:
        heard = _checked(said)
    except (ValidationError, ValueError) as error:
        heard = Unknown(unknown=f"the LLDP probe's answer is not valid: {str(error).splitlines()[0][:120]}")
    if isinstance(heard, Unknown):
        return node.model_copy(update={"lldp": heard}) if isinstance(node.lldp, Unknown) else node
    known = () if isinstance(node.lldp, Unknown) else node.lldp
    told = {(one.netdev, one.chassis, one.port): one for one in (*heard, *known)}
    return node.model_copy(update={"lldp": tuple(told[key] for key in sorted(told))})


def _checked(said: Any) -> tuple[LldpNeighbour, ...] | Unknown:
    if isinstance(said, dict):
        return Unknown.model_validate(said, strict=True)
    if not isinstance(said, list) or len(said) > MOST:
        raise ValueError("neighbours are a list of at most 4096")
    found = tuple(LldpNeighbour.model_validate(one, strict=True) for one in said)
    if any(len(text) > LONGEST for one in found for text in one.model_dump().values() if isinstance(text, str)):
        raise ValueError("a text of more than 255 characters")
    return found
