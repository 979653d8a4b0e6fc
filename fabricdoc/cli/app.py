"""The command table: names, groups and the one-line help of every command.

Only the module of the command that is asked for is loaded and built, which is a fifth of a short command's time.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import typer

from fabricdoc import __version__

MODULES: Mapping[str, tuple[str, ...]] = {
    "init": ("init",),
    "nodes": ("scan", "cables"),
    "measure": ("bench", "recommend"),
    "preset": ("export-env",),
    "gate": ("gate",),
    "run": ("run",),
    "verify": ("verify-env",),
    "lint": ("lint",),
    "explain": ("explain",),
    "profile": ("profile",),
    "runs": ("runs",),
    "demo": ("demo",),
    "lab": ("lab",),
}
"""Module of fabricdoc.cli.commands -> the commands it registers, in the order of the help."""

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


def build_app(word: str = "") -> typer.Typer:
    """The program as a typer application: the command called `word` alone, or all of them where there is none such."""
    app = typer.Typer(
        help=ABOUT,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=ABOUT)(_root)
    wanted = [module for module, names in MODULES.items() if word in names]
    for name in wanted or MODULES:
        module = import_module(f"fabricdoc.cli.commands.{name}")
        if name == "lab":
            app.add_typer(module.build(), name="lab")
        else:
            module.register(app)
    return app
