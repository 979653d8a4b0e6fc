"""`lint`: settings judged before a launch. Reads the files that are named; asks no node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.options import Json
from fabricdoc.cli.terminal import screen

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Env files, scripts, launch lines, nccl.conf, compose and Kubernetes YAML, systemd units, JSON; - is "
        "standard input, NODE=FILE says whose a file is.",
    ),
]
Form = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="docker, shell, nccl.conf, systemd, command, yaml, json; else told by name.",
    ),
]
Release = Annotated[
    str,
    typer.Option(
        "--nccl", metavar="VERSION|PATH", help="The NCCL meant: 2.28.9, a libnccl.so.2, any; else the one found here."
    ),
]
Scan = Annotated[
    list[Path],
    typer.Option(
        "--scan",
        metavar="PATH",
        help="Hold the settings against this saved scan, or text of tools; repeatable.",
    ),
]
Node = Annotated[str, typer.Option("--node", metavar="NAME", help="The node that the files are for.")]
Sarif = Annotated[bool, typer.Option("--sarif", help="SARIF 2.1.0 on stdout, for code scanning.")]
Github = Annotated[bool, typer.Option("--github", help="GitHub's annotations on stdout, for a workflow.")]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("lint", short_help="Judge settings before a launch.")(lint)


def lint(
    files: Files,
    form: Form = "",
    nccl: Release = "",
    scan: Scan = [],  # noqa: B006
    node: Node = "",
    sarif: Sarif = False,
    github: Github = False,
    as_json: Json = False,
) -> int:
    """Judge settings before a launch: unknown names, values NCCL reads otherwise, contradictions, what must agree.

    Files named *.env are read as docker --env-file reads them unless --format says otherwise. Several files are several
    nodes, nccl.conf files lie below the environment beside them. Exit 0: nothing, or warnings only. 1: an error.
    """
    if as_json + sarif + github > 1:
        raise typer.BadParameter("--json, --sarif and --github each say what stdout holds: give one of them")
    from fabricdoc.workflow import lint_files

    out = screen(as_json=as_json)
    found = lint_files(files, form, nccl, scan, node)
    if sarif:
        from fabricdoc import __version__
        from fabricdoc.nccl import as_sarif

        out.text(json.dumps(as_sarif(found.remarks, __version__), indent=2) + "\n")
    elif github:
        from fabricdoc.nccl import as_github

        out.text("".join(f"{one}\n" for one in as_github(found.remarks)))
    else:
        out.settings(found)
        if found.after is not None:
            out.next_command(*found.after)
    return 1 if found.has_errors else 0
