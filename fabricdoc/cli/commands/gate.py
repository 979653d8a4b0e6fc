"""`gate`: refuse a launch on a fabric that is not the one measured."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.commands.preset import PresetOption
from fabricdoc.cli.options import Hostfile, Json, Nodes, Presets, Python, Slurm, Store, nodes_if_named
from fabricdoc.cli.terminal import screen

Level = Annotated[
    str, typer.Option("--level", help="How deep: quick looks only, smoke also sends a little, full also measures.")
]
Profile = Annotated[str, typer.Option("--profile", help="The job's profile; another than the preset's is refused.")]
Local = Annotated[
    bool, typer.Option("--local", help="This node's own part only; exits non-zero for the ids of --hardware alone.")
]
Node = Annotated[str | None, typer.Option("--node", help="With --local: which node, where this machine is not clear.")]
Hardware = Annotated[
    list[str], typer.Option("--hardware", metavar="ID,ID", help="With --local: the ids that may refuse (drain a node).")
]
Waive = Annotated[
    list[str], typer.Option("--waive", metavar="ID=REASON", help="Let a check pass, and record why. Repeatable.")
]
Drift = Annotated[
    str, typer.Option("--drift", help="What a difference that breaks nothing by itself does: fail, or report.")
]
Pid = Annotated[
    list[str], typer.Option("--pid", help="The server runs already: judge it. PID here, or NODE=PID,NODE=PID.")
]
Container = Annotated[list[str], typer.Option("--container", help="As --pid: NAME on every node, or NODE=NAME.")]
Env = Annotated[
    list[str],
    typer.Option("--env", metavar="[NODE=]FILE", help="What the job gets: env, compose, k8s file, unit, script."),
]
PortNumbers = Annotated[
    list[int],
    typer.Option("--port", help="TCP ports of launcher and server (default: the launch line's, or 29500)."),
]
Launch = Annotated[str, typer.Option("--launch", help="The launch line in one word; or put it behind --.")]
Deadline = Annotated[
    float | None, typer.Option("--deadline", help="Seconds for the whole gate. Default: quick 15, smoke 120, full 300.")
]
Textfile = Annotated[
    Path | None, typer.Option("--textfile", metavar="FILE", help="Also write the answer for Prometheus' node_exporter.")
]
Line = Annotated[bool, typer.Option("--line", help="One line for a log, in place of the screen.")]
Command = Annotated[list[str], typer.Argument(metavar="[-- COMMAND...]", help="The launch line; nothing is started.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("gate", short_help="May this job start here and now?")(gate)


def gate(
    command: Command = [],  # noqa: B006
    preset: PresetOption = None,
    level: Level = "quick",
    profile: Profile = "",
    local: Local = False,
    node: Node = None,
    hardware: Hardware = [],  # noqa: B006
    waive: Waive = [],  # noqa: B006
    drift: Drift = "fail",
    pid: Pid = [],  # noqa: B006
    container: Container = [],  # noqa: B006
    env: Env = [],  # noqa: B006
    port: PortNumbers = [],  # noqa: B006
    launch: Launch = "",
    deadline: Deadline = None,
    textfile: Textfile = None,
    line: Line = False,
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    python: Python = "",
    presets: Presets = [],  # noqa: B006
    store: Store = None,
    as_json: Json = False,
) -> int:
    """May this job start here and now? Holds the nodes against the preset and looks for what is in the way.

    Starts nothing and changes nothing. Exit 0: go. 1: no-go. 3: could not tell. 4: a node failed, or the time is over.
    """
    from fabricdoc.gate import gate_status
    from fabricdoc.report import status_line
    from fabricdoc.report import textfile as as_textfile
    from fabricdoc.workflow import GateWords, JobWords, LocalWords, check_gate, read_folders, read_gate, write_textfile

    out = screen(as_json=as_json)
    named = bool(nodes or hostfile or slurm)
    part = LocalWords(local, node, hardware)
    job = JobWords(profile, pid, container, env, port, launch, command)
    terms = GateWords(preset, level, waive, drift, deadline, named, python, store, read_folders(presets))
    asked = read_gate(terms, part, job, lambda: nodes_if_named(nodes, python, hostfile, slurm=slurm), out.progress)
    answer = check_gate(asked, out.progress)
    if line and not as_json:
        out.text(f"{status_line(answer)}\n")
    else:
        out.document(answer)
    if textfile is not None:
        write_textfile(textfile, as_textfile(answer, time.time()))
    return gate_status(answer)
