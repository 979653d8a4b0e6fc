"""The command table: names, groups and the one-line help of every command."""

from __future__ import annotations

import typer

from fabricdoc import __version__
from fabricdoc.cli.commands import (
    demo,
    explain,
    gate,
    init,
    lab,
    lint,
    measure,
    nodes,
    preset,
    profile,
    run,
    runs,
    verify,
)

ABOUT = """NCCL over RoCE, diagnosed and tuned: look, prove the cables, measure, start with exactly these variables.

Start with `fabricdoc demo` (two nodes in this machine), or `fabricdoc scan --nodes HOST1,HOST2`.
Exit status: 0 fit or done, 1 not fit, 2 wrong usage, 3 could not tell, 4 a node or tool failed, 130 interrupted.
"""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"fabricdoc {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Hold the options of the program itself."""


def build_app() -> typer.Typer:
    """The whole program as a typer application."""
    app = typer.Typer(
        help=ABOUT,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=ABOUT)(_root)
    for module in (init, nodes, measure, preset, gate, run, verify, lint, explain, profile, runs, demo):
        module.register(app)
    app.add_typer(lab.build(), name="lab")
    return app
