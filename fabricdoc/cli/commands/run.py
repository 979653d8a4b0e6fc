"""`run`: the gate, this node's variables, and then the command in our place."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fabricdoc.cli.commands.gate import Deadline, Drift, Hardware, Level, Local, PortNumbers, Profile, Waive
from fabricdoc.cli.commands.preset import PresetOption
from fabricdoc.cli.options import Hostfile, Json, Nodes, Presets, Python, Slurm, Store, nodes_if_named
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
    level: Level = "quick",
    profile: Profile = "",
    local: Local = False,
    hardware: Hardware = [],  # noqa: B006
    waive: Waive = [],  # noqa: B006
    drift: Drift = "fail",
    port: PortNumbers = [],  # noqa: B006
    deadline: Deadline = None,
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    python: Python = "",
    presets: Presets = [],  # noqa: B006
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Start COMMAND with exactly the preset's variables, if the gate says go: `fabricdoc run -- vllm serve MODEL`.

    A gate that says no is the end, with its status (1 no-go, 3 could not tell, 4 a node failed) and its document.
    After a go this process becomes COMMAND: its output, its signals, its status. There is no way around the gate;
    --waive lets single checks pass.
    """
    from fabricdoc.gate import gate_status
    from fabricdoc.workflow import (
        GateWords,
        JobWords,
        LocalWords,
        check_gate,
        make_start,
        open_files,
        preset_to_start,
        read_folders,
        read_gate,
        take_place,
        this_hostname,
    )

    files, out = open_files(), screen(as_json=as_json)
    wanted = preset_to_start(preset, store, out.progress)
    start = make_start(wanted, command, os.environ, this_hostname(), node=node, keep_env=keep_env)
    named = bool(nodes or hostfile or slurm)
    part = LocalWords(local, start.node if local else None, hardware)
    job = JobWords(profile=profile, ports=port, command=command)
    terms = GateWords(preset, level, waive, drift, deadline, named, python, store, read_folders(presets))
    asked = read_gate(terms, part, job, lambda: nodes_if_named(nodes, python, hostfile, slurm=slurm), out.progress)
    answer = check_gate(asked, out.progress)
    if status := gate_status(answer):
        out.document(answer)
        return status
    out.notes([f"{answer.answer}: {answer.reason}", *start.told()])
    out.close()
    return take_place(start, files)
