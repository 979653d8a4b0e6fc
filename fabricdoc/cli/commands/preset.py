"""`export-env`: write the variables of a node."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.options import Hostfile, Json, Nodes, Ports, Store, resolve_nodes
from fabricdoc.cli.terminal import screen

What = Annotated[
    str | None, typer.Argument(metavar="[RUN|PRESET]", help="A run's id or a preset file; default: latest.")
]
PresetOption = Annotated[
    str | None, typer.Option("--preset", help="A preset file or a run's id; default: the latest run's.")
]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("export-env", short_help="Write a node's variables.")(export_env)


def export_env(
    what: What = None,
    node: Annotated[
        str | None, typer.Option("--node", help="This node's values: its name, head or worker; common: what all share.")
    ] = None,
    fmt: Annotated[
        str, typer.Option("--format", help="env, docker-env, bash, nccl-conf, k8s, ...: see --formats.")
    ] = "env",
    out_dir: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write each node's file, and the common one, here.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", help="Not a measured preset: a curated one from a scan (gb10, servers).")
    ] = None,
    nodes: Nodes = [],  # noqa: B006
    ports: Ports = [],  # noqa: B006
    hostfile: Hostfile = None,
    save: Annotated[Path | None, typer.Option("--save", help="With --platform: keep the preset itself here.")] = None,
    no_strict: Annotated[
        bool, typer.Option("--no-strict", help="Leave NCCL_NET=IB out: a lost HCA is then no error but slow sockets.")
    ] = False,
    first_launch: Annotated[
        bool, typer.Option("--first-launch", help="Add diagnostics for a first start: logs, dumps, longer time-outs.")
    ] = False,
    expired: Annotated[bool, typer.Option("--expired", help="Write it though its time is over.")] = False,
    formats: Annotated[bool, typer.Option("--formats", help="List the formats and for whom they are.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Write the recommended variables: `fabricdoc export-env > nccl.env`."""
    from fabricdoc import export
    from fabricdoc.export import check_valid, choose_part, format_named, render, wanted_lines
    from fabricdoc.workflow import find_preset, preset_from_scan, refuse_unsafe, this_hostname

    out = screen(as_json=as_json)
    if formats:
        out.formats(export.format_list())
        return 0
    name = "json" if as_json and out_dir is None else fmt
    whole = format_named(name).scope != "node"
    if platform is None:
        if nodes or hostfile or save:
            raise typer.BadParameter("--nodes, --hostfile and --save go with --platform; for one node's values: --node")
        preset = find_preset(what, store, out.progress)
        check_valid(preset, expired=expired)
    else:
        preset = preset_from_scan(platform, resolve_nodes(nodes, ports, "", hostfile), out.progress, save)
    refuse_unsafe(preset)
    preset = wanted_lines(preset, name, strict=not no_strict, first_launch=first_launch)
    part = node or not (whole or out_dir)
    one = choose_part(preset, node, this_hostname(), _kept(platform, save), name) if part else None
    if out_dir is not None:
        out.written(export.write_all(preset, out_dir, fmt, only=one))
        return 0
    text = render(preset, one, "json" if as_json else fmt)
    if told := export.left_out(preset, one, fmt):
        out.progress(told)
    out.text(text)
    return 0


def _kept(platform: str | None, save: Path | None) -> str:
    """The command that takes the preset of a scan from where it was kept; "" where the same command does."""
    return f"fabricdoc export-env {shlex.quote(str(save))}" if platform is not None and save is not None else ""
