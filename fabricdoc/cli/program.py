"""The outer main: runs the inner program and turns its errors into one line and an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from fabricdoc.errors import ExitStatus, FabricdocError, StoppedError, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Never raises: every outcome is an exit status (see `ExitStatus`)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return int(_program(arguments))
    except KeyboardInterrupt:
        return _report(StoppedError("stopped before anything was measured"), arguments)
    except BrokenPipeError:
        _silence_stdout()
        return ExitStatus.FIT
    except FabricdocError as error:
        return _report(error, arguments)


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _program(arguments: list[str]) -> int:
    from typer import Exit
    from typer._click.exceptions import ClickException, NoArgsIsHelpError

    from fabricdoc.cli.app import build_app

    try:
        status = build_app()(args=arguments, prog_name="fabricdoc", standalone_mode=False)
    except Exit as done:
        return done.exit_code
    except NoArgsIsHelpError as error:
        sys.stdout.write(error.format_message() + "\n")
        return ExitStatus.USAGE
    except ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "fabricdoc"
        raise UsageError(error.format_message(), fix=f"{command} --help", id="usage") from error
    return status if isinstance(status, int) else ExitStatus.FIT


def _report(error: FabricdocError, arguments: Sequence[str]) -> int:
    from fabricdoc.cli.terminal import screen

    screen(as_json="--json" in arguments).error(error)
    return error.status


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
