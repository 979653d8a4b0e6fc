"""`scan` and `cables`: look at nodes, prove the links. Read-only on every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import typer

from fabricdoc.cli.options import Json, Nodes, Ports, Python, resolve_nodes
from fabricdoc.cli.terminal import screen

if TYPE_CHECKING:
    from fabricdoc.transport import NodeSpec


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("scan", short_help="Look at nodes; with two or more, prove the cables.")(scan)
    app.command("cables", short_help="Prove which port meets which.")(cables)


def scan(nodes: Nodes = [], ports: Ports = [], python: Python = "", as_json: Json = False) -> int:  # noqa: B006
    """Look at the nodes: HCAs, ports, addresses, MTU, GPUs, host; with two or more nodes also the cables."""
    return _look(resolve_nodes(nodes, ports, python), as_json, "all")


def cables(nodes: Nodes = [], ports: Ports = [], python: Python = "", as_json: Json = False) -> int:  # noqa: B006
    """Prove which port meets which, with a few layer-2 frames from RDMA-backed or listed ports."""
    from fabricdoc.errors import UsageError

    specs = resolve_nodes(nodes, ports, python)
    if len(specs) < 2:
        raise UsageError("cables join at least two nodes", fix=f"fabricdoc cables --nodes {specs[0].target},OTHER_HOST")
    return _look(specs, as_json, "links")


def _look(specs: Sequence[NodeSpec], as_json: bool, part: Literal["all", "links"]) -> int:
    """Start the probes first: they run while this process loads what reads and shows their reports."""
    from fabricdoc.fabric import begin_scan

    begun = begin_scan(specs)
    from fabricdoc.report import fabric_status
    from fabricdoc.workflow import look

    out = screen(as_json=as_json)
    fabric = look(specs, out.progress, begun)
    out.document(fabric, part=part)
    return fabric_status(fabric)
