"""The outer main: runs the inner program and turns its errors into one line and an exit status.

Whatever happens (a signal, a full disk, a fault of ours) ends in a status of `ExitStatus`, never in a traceback.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from fabricdoc.cli import terminal
from fabricdoc.cli.signals import stopping
from fabricdoc.errors import ExitStatus, FabricdocError, StoppedError, ToolError, UsageError

GC_AFTER = 200_000
"""Objects made between two collections of garbage (Python: 700): while a command loads, there is none to find."""
STOPPED = "stopped; nothing that was started is left running"


def run() -> NoReturn:
    """The whole process: one command, then out at once.

    Every file, child and stream is settled by then. Taking the interpreter apart would only free memory that is freed
    anyway, and takes a quarter of a scan's time (measured: tests/benchmarks/startup.py).
    """
    os._exit(main())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Never raises: every outcome is an exit status (see `ExitStatus`).

    With `argv` the signals' handlers are put back; without, the process is over and stays deaf to more of them.
    """
    try:
        with stopping(for_good=argv is None):
            return _command(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # between two lines of what is below
        return ExitStatus.INTERRUPTED


def _command(arguments: list[str]) -> int:
    terminal.begin(arguments)
    gc.set_threshold(GC_AFTER)
    try:
        _fill_descriptors()
        status = int(_program(arguments))
    except KeyboardInterrupt:
        status = _report(StoppedError(STOPPED), arguments)
    except FabricdocError as error:
        status = _report(error, arguments)
    except Exception as error:  # noqa: BLE001 - the last resort: a status of 1 would say "not fit"
        status = _report(_unforeseen(error), arguments)
    _settle_streams()
    return status


def _fill_descriptors() -> None:
    """Open /dev/null where stdin, stdout or stderr is closed: a file opened later must not get their numbers."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is the one that was closed


def _program(arguments: list[str]) -> int:
    from typer import Abort, Exit
    from typer._click.exceptions import ClickException, NoArgsIsHelpError
    from typer.main import get_command

    from fabricdoc.cli.app import build_app
    from fabricdoc.cli.words import command_of, refuse_valueless

    path = "fabricdoc"
    try:
        program = get_command(build_app(arguments[0] if arguments else ""))
        path, command, words = command_of(program, arguments)
        refuse_valueless(path, command, words)
        status = program(args=arguments, prog_name="fabricdoc", standalone_mode=False)
    except Exit as done:
        return done.exit_code
    except NoArgsIsHelpError as error:
        sys.stdout.write(error.format_message() + "\n")
        return ExitStatus.USAGE
    except Abort as stop:
        raise KeyboardInterrupt from stop
    except SystemExit as end:  # click's answer to a reader of help that went away
        return ExitStatus.FIT if isinstance(end.__context__, OSError) else int(end.code or 0)
    except ClickException as error:
        said = error.format_message().removeprefix("Invalid value: ")
        raise UsageError(said, fix=f"{path} --help", id="usage") from error
    if status == ExitStatus.INTERRUPTED:  # what typer makes of a KeyboardInterrupt; no command answers so itself
        raise KeyboardInterrupt
    return status if isinstance(status, int) else ExitStatus.FIT


def _report(error: FabricdocError, arguments: Sequence[str]) -> int:
    """Say it; where not even that can be written, the status alone must do."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments  # what follows is another's command
    try:
        terminal.screen(as_json="--json" in own, lines="--json-lines" in own).error(error)
    except (FabricdocError, OSError, KeyboardInterrupt):
        return error.status
    except Exception:  # noqa: BLE001 - not even the screen works (a broken installation)
        with suppress(OSError):
            os.write(2, f"fabricdoc: {error.message}\n".encode("utf-8", "replace"))
    return error.status


def _unforeseen(error: Exception) -> ToolError:
    """What no room foresaw: the system's own words, or for a fault of ours the place to report."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return ToolError(f"{error.strerror}{where}", id="system")
    if isinstance(error, MemoryError):
        return ToolError("not enough memory on this machine", id="system")
    said = str(error).strip().splitlines()
    return ToolError(
        f"a fault in fabricdoc: {type(error).__name__} in {_place(error)}{f': {said[0][:200]}' if said else ''}",
        fix="report this line, with the command",
        id="fault",
    )


def _place(error: Exception) -> str:
    """FILE:LINE of the innermost line of ours that the error passed."""
    place, frame = "an unknown place", error.__traceback__
    while frame is not None:
        path = Path(frame.tb_frame.f_code.co_filename)
        if "fabricdoc" in path.parts:
            place = f"{path.parent.name}/{path.name}:{frame.tb_lineno}"
        frame = frame.tb_next
    return place


def _settle_streams() -> None:
    """Push everything out now; what can't be written goes to /dev/null, so that Python's own flush is quiet."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def _silence(stream: object) -> None:
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())  # type: ignore[attr-defined]
        os.close(null)
    except (OSError, ValueError):
        return
