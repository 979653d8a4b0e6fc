"""`lab up | down | list`: two nodes as namespaces on this machine, for trying things."""

from __future__ import annotations

from typing import Annotated

import typer

from fabricdoc.cli.options import Json
from fabricdoc.cli.terminal import screen

Name = Annotated[str, typer.Option("--name", help="The lab's name.")]


def build() -> typer.Typer:
    """The group of lab commands."""
    group = typer.Typer(
        help="Two nodes as namespaces on this machine, for trying things.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("up", short_help="Start a lab that stays.")(up)
    group.command("down", short_help="Remove a lab, or all of them.")(down)
    group.command("list")(list_labs)
    return group


def up(
    name: Name = "lab",
    rails: Annotated[int, typer.Option("--rails", min=1, max=8, help="Rails between the nodes.")] = 2,
    cabling: Annotated[str, typer.Option("--cabling", help="crossed or straight.")] = "crossed",
    rate: Annotated[
        int | None, typer.Option("--rate", min=1, help="Mbit/s of every rail (default: unlimited).")
    ] = None,
    as_json: Json = False,
) -> int:
    """Start a lab that stays until `fabricdoc lab down`."""
    from fabricdoc.lab import LabSpec, lab_document, lab_up

    out = screen(as_json=as_json)
    spec = LabSpec(rails=rails, cabling=cabling, rate_mbit=rate)
    out.lab(lab_document([lab_up(spec, name=name)]))
    return 0


def down(
    name: Annotated[str | None, typer.Option("--name", help="The lab's name; default: every lab.")] = None,
    as_json: Json = False,
) -> int:
    """Remove a lab (or all of them) and everything it started."""
    from fabricdoc.lab import lab_document, lab_down

    screen(as_json=as_json).lab(lab_document(lab_down(name)), removed=True)
    return 0


def list_labs(as_json: Json = False) -> int:
    """List running labs and their nodes."""
    from fabricdoc.lab import lab_document, lab_list

    screen(as_json=as_json).lab(lab_document(lab_list()))
    return 0
