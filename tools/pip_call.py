"""Call pip for an environment that has none of its own, quietly; what it printed is shown only when it fails.

This module knows where a usable pip is and which settings must not leak in. It decides nothing about versions.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

INSTALL_DEADLINE_S = 1800.0
PIP_WITH_PYTHON_OPTION = (22, 3)
# A user's own settings that would send packages elsewhere, or hide or add packages while pip resolves.
DROPPED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_QUIET",
    "PIP_DRY_RUN",
    "PIP_REPORT",
)


class Stop(Exception):
    """The environment can't be made; the message is for the user, what to do included."""


def say(text: str) -> None:
    """One line of progress on stderr."""
    sys.stderr.write(f"fabricdoc: {text}\n")
    sys.stderr.flush()


def clean_environ() -> dict[str, str]:
    """This process's environment without what would change where pip installs and what Python imports."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return kept | {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONUNBUFFERED": "1"}


def check_call(command: Sequence[str], complaint: str, *, deadline_s: float) -> None:
    """Run `command` from `/`; Stop with its last lines when it fails or the deadline passes."""
    with own_group(command, stderr=subprocess.STDOUT) as process:
        try:
            output, _ = process.communicate(timeout=deadline_s)
        except subprocess.TimeoutExpired:
            raise Stop(f"{complaint}: no end within {deadline_s:.0f} s") from None
    if process.returncode:
        raise Stop("\n  ".join([f"{complaint}:", *output.strip().splitlines()[-15:]]))


@contextmanager
def own_group(command: Sequence[str], *, stderr: int) -> Iterator[subprocess.Popen[str]]:
    """Run `command` (text stdout in a pipe) in a process group and a temporary folder that both end with the block.

    pip starts itself again for `--python` and keeps half a download in TMPDIR: ending only the first process would
    leave both behind.
    """
    with tempfile.TemporaryDirectory(prefix="fabricdoc-", ignore_cleanup_errors=True) as place:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            env=clean_environ() | {"TMPDIR": place},
            cwd="/",
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()


def install(pip: Sequence[str], arguments: Sequence[str]) -> None:
    """`pip install ARGUMENTS`; Stop with pip's last lines when it fails."""
    check_call(
        [*pip, "install", "--no-input", "--progress-bar", "off", *arguments],
        "pip could not install what is needed",
        deadline_s=INSTALL_DEADLINE_S,
    )


def pip_for(python: Path) -> list[str]:
    """The command that is pip for `python`'s environment: this Python's pip, one it sees, or ensurepip's.

    Stop, naming the package to install, where there is neither pip (22.3 or later) nor ensurepip.
    """
    if _pip_version([sys.executable, "-P", "-m", "pip"]) >= PIP_WITH_PYTHON_OPTION:
        return [sys.executable, "-P", "-m", "pip", "--python", str(python)]
    own = [str(python), "-P", "-m", "pip"]
    if _pip_version(own) > (0,):
        return own
    if importlib.util.find_spec("ensurepip") is None:
        raise Stop(f"this Python has neither pip nor ensurepip; try: sudo apt-get install {venv_package()}")
    check_call([str(python), "-P", "-m", "ensurepip"], "ensurepip failed", deadline_s=300)
    return own


def venv_package() -> str:
    """The Debian or Ubuntu package that brings ensurepip to this Python."""
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3"):
        return "python3-venv"
    return f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def _pip_version(pip: Sequence[str]) -> tuple[int, ...]:
    """Version of a pip command, or (0,) where it does not run."""
    done = subprocess.run(
        [*pip, "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=clean_environ(),
        cwd="/",
        timeout=60,
        check=False,
    )
    match = re.match(r"pip (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match and done.returncode == 0 else (0,)
