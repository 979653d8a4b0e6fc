"""`runs`: list, show, export, compare, import and remove stored runs, and the history of gates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.options import Json, RunArgument, Store, open_store
from fabricdoc.cli.terminal import screen


def register(app: typer.Typer) -> None:
    """Add the group to the program."""
    what = "List, show, export, compare, import or remove runs."
    group = typer.Typer(help=what, no_args_is_help=True, rich_markup_mode=None)
    group.command("list")(list_runs)
    group.command("show")(show)
    group.command("gates")(gates)
    group.command("export")(export)
    group.command("compare")(compare)
    group.command("import")(bring)
    group.command("rm")(remove)
    app.add_typer(group, name="runs")


def list_runs(store: Store = None, as_json: Json = False) -> int:
    """List the stored runs, newest first."""
    out = screen(as_json=as_json)
    with open_store(store, write=False) as kept:
        out.runs(kept.list_runs(), kept.path)
    return 0


def show(
    run: RunArgument = None,
    sizes: Annotated[bool, typer.Option("--sizes", help="Also every candidate at every size, view by view.")] = False,
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Show a run: its plan and every launch."""
    out = screen(as_json=as_json)
    with open_store(store, write=False) as kept:
        found = kept.load(run)
        out.document(found)
        if sizes and not as_json:
            from fabricdoc.workflow import kept_verdict

            out.sizes(found, kept_verdict(kept, found.id))
    return 0


def gates(
    gate: Annotated[str | None, typer.Argument(metavar="[GATE]", help="A gate's id: show its whole answer.")] = None,
    most: Annotated[int, typer.Option("--last", min=1, max=1000, help="How many, the newest first.")] = 20,
    store: Store = None,
    as_json: Json = False,
) -> int:
    """List the gates that were asked, newest first, or show one."""
    from fabricdoc.store import default_path, gate_named, list_gates

    out = screen(as_json=as_json)
    if gate is None:
        out.gates(list_gates(store, most), store or default_path())
    else:
        out.document(gate_named(gate, store))
    return 0


def export(
    run: RunArgument = None,
    what: Annotated[str, typer.Option("--table", help="cells, launches, samples or verdicts.")] = "cells",
    form: Annotated[str, typer.Option("--format", help="csv, json or parquet (needs pyarrow and -o).")] = "csv",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write this file, not stdout.")] = None,
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Write a run as a table: its cells (medians, quantiles, bandwidths), launches, samples, or what its verdict says.

    In Python, `fabricdoc.data` gives the same as pandas DataFrames.
    """
    from fabricdoc.data import export_run

    out = screen(as_json=as_json)
    with open_store(store, write=False) as kept:
        text = export_run(kept, run, what, "json" if as_json and output is None else form, output)
    if output is None:
        out.text(text)
    else:
        out.written([output])
    return 0


def compare(
    first: Annotated[str, typer.Argument(help="A run's id.")],
    second: Annotated[str, typer.Argument(help="The run that is held against it.")],
    candidate: Annotated[str, typer.Option("--candidate", help="Whose launches to compare.")] = "base",
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Compare two runs cell by cell, with the statistics of a verdict; above 1 the second is faster."""
    from fabricdoc.tuning import compare_runs

    with open_store(store, write=False) as kept:
        compared = compare_runs(kept.load(first), kept.load(second), candidate=candidate)
    screen(as_json=as_json).document(compared)
    return 0


def bring(
    files: Annotated[list[Path], typer.Argument(help="Output of nccl-tests, text or the JSON of -J.")],
    store: Store = None,
    as_json: Json = False,
) -> int:
    """Import the output of nccl-tests as a run, one launch per file, and show it."""
    from fabricdoc.workflow import import_nccl_tests

    with open_store(store, write=True) as kept:
        brought = import_nccl_tests(kept, files)
    screen(as_json=as_json).document(brought)
    return 0


def remove(run: Annotated[str, typer.Argument(help="A run's id.")], store: Store = None, as_json: Json = False) -> int:
    """Remove a run and its samples from the store, and list what is left."""
    with open_store(store, write=True, make=False) as kept:
        kept.remove(run)
        left = kept.list_runs()
    screen(as_json=as_json).runs(left, kept.path)
    return 0
