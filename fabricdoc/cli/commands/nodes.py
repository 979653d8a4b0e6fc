"""`scan` and `cables`: look at nodes, prove the links. Read-only on every node."""

from __future__ import annotations

import typer

from fabricdoc.cli.options import Json, Nodes, Ports, Python, resolve_nodes
from fabricdoc.cli.terminal import screen


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("scan")(scan)
    app.command("cables")(cables)


def scan(nodes: Nodes = [], ports: Ports = [], python: Python = "", as_json: Json = False) -> int:  # noqa: B006
    """Look at the nodes: HCAs, ports, addresses, MTU, GPUs, host; with two or more nodes also the cables."""
    from fabricdoc.report import fabric_status
    from fabricdoc.workflow import look

    out = screen(as_json=as_json)
    fabric = look(resolve_nodes(nodes, ports, python), out.progress)
    out.document(fabric)
    return fabric_status(fabric)


def cables(nodes: Nodes = [], ports: Ports = [], python: Python = "", as_json: Json = False) -> int:  # noqa: B006
    """Prove which port meets which, with a few layer-2 frames from RDMA-backed or listed ports."""
    from fabricdoc.report import fabric_status
    from fabricdoc.workflow import look

    out = screen(as_json=as_json)
    fabric = look(resolve_nodes(nodes, ports, python), out.progress)
    out.document(fabric, part="links")
    return fabric_status(fabric)
