"""`runs`: list, show and remove stored runs."""

from __future__ import annotations

from typing import Annotated

import typer

from fabricdoc.cli.options import Json, RunArgument, Store, open_store
from fabricdoc.cli.terminal import screen


def register(app: typer.Typer) -> None:
    """Add the group to the program."""
    group = typer.Typer(help="List, show or remove stored runs.", no_args_is_help=True, rich_markup_mode=None)
    group.command("list")(list_runs)
    group.command("show")(show)
    group.command("rm")(remove)
    app.add_typer(group, name="runs")


def list_runs(store: Store = None, as_json: Json = False) -> int:
    """List the stored runs, newest first."""
    out = screen(as_json=as_json)
    out.runs(open_store(store, write=False).list_runs())
    return 0


def show(run: RunArgument = None, store: Store = None, as_json: Json = False) -> int:
    """Show a run: its plan and every launch."""
    out = screen(as_json=as_json)
    out.document(open_store(store, write=False).load(run))
    return 0


def remove(run: Annotated[str, typer.Argument(help="A run's id.")], store: Store = None, as_json: Json = False) -> int:
    """Remove a run and its samples from the store, and list what is left."""
    kept = open_store(store, write=True, make=False)
    kept.remove(run)
    screen(as_json=as_json).runs(kept.list_runs())
    return 0
