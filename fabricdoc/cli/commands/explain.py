"""`explain`: from logs, dumps and settings to the cause and the fix."""

from __future__ import annotations

from typing import Annotated

import typer

from fabricdoc.cli.options import Json
from fabricdoc.cli.terminal import screen
from fabricdoc.errors import UsageError

HINT = "fabricdoc explain FOLDER, or what a pipe holds: ... | fabricdoc explain -"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("explain", short_help="From a log to the cause and the fix")(explain)


def explain(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Logs, dumps, env files, or folders of them; - is stdin."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Say why NCCL failed or is slow, from what you have: the cause, the lines that show it, and the fix.

    Reads NCCL and engine logs of any rank (plain, gzip, zstd), nccl-tests output, env files, launch commands, and the
    output of show_gids, ibv_devinfo, rdma link, ip, lspci and others. A file's name tells its node: n1_show_gids.txt.

    Exit 0: nothing wrong, or a warning. 1: an error and its cause. 3: the files do not decide; says what to collect.
    """
    from fabricdoc.workflow import explain_paths, explain_status

    if not paths:
        raise UsageError("Missing argument 'PATH...'.", fix=HINT)
    out = screen(as_json=as_json)
    document = explain_paths(paths, out.progress)
    out.document(document)
    return explain_status(document)
