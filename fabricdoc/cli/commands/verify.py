"""`verify-env`: proof that a preset's variables reached the processes that serve, on every node."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fabricdoc.cli.commands.preset import PresetOption
from fabricdoc.cli.options import Hostfile, Json, Nodes, Python, Slurm, Store, nodes_if_named
from fabricdoc.cli.terminal import screen


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("verify-env", short_help="Did the variables reach the server?")(verify_env)


def verify_env(
    pid: Annotated[list[str], typer.Option("--pid", help="The server's process: PID here, or NODE=PID,NODE=PID.")] = [],  # noqa: B006
    container: Annotated[
        list[str], typer.Option("--container", help="The server's container: NAME on every node, or NODE=NAME,...")
    ] = [],  # noqa: B006
    log: Annotated[
        list[str], typer.Option("--log", help="A log with NCCL's lines (NCCL_DEBUG=INFO): FILE or NODE=FILE.")
    ] = [],  # noqa: B006
    preset: PresetOption = None,
    node: Annotated[str | None, typer.Option("--node", help="Look at this node alone: its name, head, worker.")] = None,
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    python: Python = "",
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Did the preset's variables reach the processes that serve? Reads /proc, nccl.conf and logs; changes nothing.

    Exit 0: all delivered. 1: one is missing, differs or is overridden. 3: could not tell.
    """
    from fabricdoc.export import choose_node, delivery_status
    from fabricdoc.workflow import check_delivery, find_preset, read_where, this_hostname

    given: list[tuple[Literal["pid", "container", "log"], list[str]]]
    given = [("pid", pid), ("container", container), ("log", log)]
    wheres = [read_where(kind, words) for kind, words in given if words]
    if not wheres:
        raise typer.BadParameter("name the server: --pid PID, --container NAME, or --log FILE")
    out = screen(as_json=as_json)
    wanted = find_preset(preset, store, out.progress)
    only = choose_node(wanted, node, this_hostname()).name if node else None
    specs = nodes_if_named(nodes, python, hostfile, slurm=slurm)
    answer = check_delivery(wanted, wheres, specs, out.progress, only, python)
    out.document(answer)
    return delivery_status(answer)
