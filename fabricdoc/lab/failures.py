"""What to do when the lab can't be made: the fix line of each ToolError, in the words the user typed.

Only composes text; it changes no right and runs nothing.
"""

from __future__ import annotations

import os
import shlex
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fabricdoc
from fabricdoc.errors import ToolError

IN_CONTAINER = (
    "root here may not make namespaces (a container?): run it outside, or start the container with "
    "`docker run --privileged ...`"
)
GIVE_UP = "run the same command again; if it stays, send this message with `uname -a`"


def lab_error(id: str, message: str, fix: str = "") -> ToolError:
    """The ToolError a user sees, always with a fix: the sudo line where rights are missing."""
    if id == "no-namespaces":
        fix = IN_CONTAINER if os.geteuid() == 0 else f"run it as root: `{sudo_line()}`"
    return ToolError(message, fix=fix or GIVE_UP, id=id)


def sudo_line() -> str:
    """This very command under sudo, to copy: full paths, and the Python path it needs kept."""
    return compose_sudo(sys.orig_argv, sys.argv, sys.executable, _kept(os.environ))


def compose_sudo(original: Sequence[str], argv: Sequence[str], python: str, kept: Mapping[str, str]) -> str:
    """The sudo line for a process started as `original` (sys.orig_argv) whose program sees `argv`.

    An installed command is named by its full path; anything else (`python -m fabricdoc`, a script) by
    its interpreter and the words after it. `kept` are variables sudo would drop.
    """
    program = Path(argv[0]).absolute() if argv and argv[0] else None
    if program and program.suffix != ".py" and os.access(program, os.X_OK) and program.is_file():
        words = [str(program), *argv[1:]]
    else:
        words = [python or "python3", *original[1:]]
    settings = [f"{name}={value}" for name, value in kept.items()]
    return shlex.join(["sudo", *(["env", *settings] if settings else []), *words])


def _kept(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables this Python was found by: PYTHONPATH, and the base of a `pip install --user`."""
    kept = {}
    if environ.get("PYTHONPATH"):
        entries = environ["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(entry).absolute()) for entry in entries if entry)
    if site.ENABLE_USER_SITE and Path(fabricdoc.__file__).is_relative_to(site.getusersitepackages()):
        kept["PYTHONUSERBASE"] = site.getuserbase()
    return kept
