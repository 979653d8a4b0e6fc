"""`demo`: the whole main job on two nodes inside this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricdoc.cli.options import Json
from fabricdoc.cli.terminal import screen


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("demo", short_help="The whole job on two nodes in this machine.")(demo)


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the results are left.")] = Path(
        "fabricdoc-demo"
    ),
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Real NCCL on this machine's GPU (one by MPS, or one per node).")
    ] = False,
    blocks: Annotated[int, typer.Option("--blocks", min=1, help="Blocks of launches.")] = 6,
    rate: Annotated[
        int | None, typer.Option("--rate", min=1, help="Mbit/s of every rail (default: unlimited).")
    ] = None,
    objective: Annotated[str, typer.Option("--objective", help="decode, prefill or mix.")] = "mix",
    profile: Annotated[str, typer.Option("--profile", help="The served model's traffic.")] = "dense-small-tp2",
    both_nics: Annotated[bool, typer.Option("--both-nics", help="With --gpu: one rail against both.")] = False,
    python: Annotated[str, typer.Option("--python", help="A python with torch, for the ranks.")] = "",
    as_json: Json = False,
) -> int:
    """Run the whole job on two nodes inside this machine: scan, cables, bench, verdict, preset, export, gate."""
    from fabricdoc.demo import DemoRequest, run_demo
    from fabricdoc.workflow import read_objective

    request = DemoRequest(
        folder=output,
        gpu=gpu,
        blocks=blocks,
        rate_mbit=rate,
        objective=read_objective(objective),
        profile=profile,
        both_nics=both_nics or not gpu,
        python=python,
    )
    return run_demo(request, screen(as_json=as_json))
