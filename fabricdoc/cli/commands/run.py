"""`run`: the gate, this node's variables, and then the command in our place."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fabricdoc.cli.commands.preset import PresetOption
from fabricdoc.cli.options import Hostfile, Json, Nodes, Python, Slurm, Store, nodes_if_named
from fabricdoc.cli.terminal import screen

Command = Annotated[list[str], typer.Argument(metavar="COMMAND...", help="What starts when the gate says go.")]
ThisNode = Annotated[
    str | None, typer.Option("--node", help="This node: its name in the preset, head, worker; default: by hostname.")
]
KeepEnv = Annotated[
    bool, typer.Option("--keep-env", help="Refuse where the environment holds another value, instead of replacing it.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program. What follows the first word of COMMAND is the command's own."""
    own = {"allow_interspersed_args": False}
    app.command("run", short_help="Gate, set this node's variables, exec.", context_settings=own)(run)


def run(
    command: Command,
    preset: PresetOption = None,
    node: ThisNode = None,
    keep_env: KeepEnv = False,
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    python: Python = "",
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Start COMMAND with exactly the preset's variables, if the gate says go: `fabricdoc run -- vllm serve MODEL`.

    A gate that says no is the end, with its status (1 no-go, 3 could not tell, 4 a node failed) and its document.
    After a go this process becomes COMMAND: its output, its signals, its status. There is no way around the gate;
    --waive takes single checks out.
    """
    from fabricdoc.gate import gate_status
    from fabricdoc.workflow import Asked, check_gate, find_preset, make_start, open_files, take_place, this_hostname

    files = open_files()
    out = screen(as_json=as_json)
    wanted = find_preset(preset, store, out.progress)
    start = make_start(wanted, command, os.environ, this_hostname(), node=node, keep_env=keep_env)
    specs = nodes_if_named(nodes, python, hostfile, slurm=slurm)
    asked = Asked(wanted, tuple(specs), python=python, store=store, launch=tuple(command))
    answer = check_gate(asked, out.progress)
    if status := gate_status(answer):
        out.document(answer)
        return status
    out.notes([f"go: {answer.reason}", *start.told()])
    out.close()
    return take_place(start, files)
