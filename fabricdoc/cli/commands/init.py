"""`init`: write fabric.toml after finding out all it can."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.options import Hostfile, Json, Nodes, Slurm, nodes_if_named
from fabricdoc.cli.terminal import screen

Force = Annotated[bool, typer.Option("--force", help="Replace a fabric.toml that is there already.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("init", short_help="Find the nodes, and write fabric.toml.")(init)


def init(
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Find the nodes this machine can reach, and write them to fabric.toml in the working folder.

    Asks the hosts of ~/.ssh/config and known_hosts that are near, and the neighbours on fabric ports; those that answer
    and have an HCA are nodes. Nodes named here are written as they are.
    """
    from fabricdoc.transport import FILE_NAME
    from fabricdoc.workflow import after_init, check_absent, config_text, find_nodes, write_config

    out, file = screen(as_json=as_json), Path(FILE_NAME)
    check_absent(file, force=force)
    named = nodes_if_named(nodes, hostfile=hostfile, slurm=slurm)
    found = find_nodes(named, out.progress)
    text = config_text(found)
    write_config(file, text, force=force)
    if as_json:
        out.written([file])
    else:
        out.text(text)
        out.next_command(*after_init(found))
    return 0
