"""`gate`: refuse a launch on a fabric that is not the one measured."""

from __future__ import annotations

from typing import Annotated

import typer

from fabricdoc.cli.commands.preset import PresetOption
from fabricdoc.cli.options import Hostfile, Json, Nodes, Python, Slurm, Store, nodes_if_named
from fabricdoc.cli.terminal import screen

Level = Annotated[
    str, typer.Option("--level", help="How deep: quick looks only, smoke also sends a little, full also measures.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("gate", short_help="May this job start here and now?")(gate)


def gate(
    preset: PresetOption = None,
    level: Level = "quick",
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    python: Python = "",
    store: Store = None,
    as_json: Json = False,
) -> int:
    """May this job start here and now? Compares the nodes with the preset's fingerprint; changes nothing."""
    from fabricdoc.gate import gate_status
    from fabricdoc.workflow import check_gate, check_level, find_preset

    out = screen(as_json=as_json)
    check_level(level)
    wanted = find_preset(preset, store, out.progress)
    specs = nodes_if_named(nodes, python, hostfile, slurm=slurm)
    answer = check_gate(wanted, specs, out.progress, python, level=level)
    out.document(answer)
    return gate_status(answer)
