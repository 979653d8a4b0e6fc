"""`make install`: fabricdoc as a command of the calling user, in an environment of its own; and away again.

The package is copied, not linked: the checkout may go afterwards. It brings what fabricdoc needs to run and no torch
(the nodes' own python, or the server's image, has that). The command is a link in ~/.local/bin.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pip_call
from environment import build, is_foreign, locked
from pip_call import Stop, say

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "fabricdoc", "probes", "presets")


def data_home() -> Path:
    """The folder of the installed environment; Stop for root in another user's home."""
    base = os.environ.get("XDG_DATA_HOME", "")
    folder = (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "fabricdoc"
    if is_foreign(folder):
        raise Stop("make install is for your own account: run it without sudo")
    return folder


def command_link() -> Path:
    """Where the command is put."""
    return Path.home() / ".local" / "bin" / "fabricdoc"


def install(tree: Path) -> None:
    """Install the tree (again: replaced in one step) and say how to call it."""
    folder = data_home()
    folder.mkdir(parents=True, exist_ok=True)
    link = command_link()
    command = folder / "env" / "bin" / "fabricdoc"
    if link.exists() and not link.is_symlink():
        raise Stop(f"{link} exists and is not a link made here; move it away first")
    say(f"installing into {folder / 'env'}")
    with locked(folder / "lock"):
        build(folder / "env", lambda python: fill(tree, python))
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(command)
    say(f"installed {link}")
    if str(link.parent) not in os.environ.get("PATH", "").split(os.pathsep):
        say('not on your PATH yet; in this shell: export PATH="$HOME/.local/bin:$PATH" (most systems do so at login)')


def fill(tree: Path, python: Path) -> Sequence[str]:
    """Install a copy of the tree into `python`'s environment: a build leaves files beside what it builds."""
    with tempfile.TemporaryDirectory(prefix="fabricdoc-install-") as place:
        for name in SOURCES:
            source = tree / name
            if source.is_dir():
                shutil.copytree(source, Path(place, name), symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, place)
        pip_call.install(pip_call.pip_for(python), [place])
    pip_call.check_call(
        [str(python), "-P", "-c", "import fabricdoc"], "the installed copy does not work", deadline_s=60
    )
    return ()


def uninstall() -> None:
    """Remove the link, if it is ours, and the environment."""
    folder, link = data_home(), command_link()
    if link.is_symlink() and link.readlink().is_relative_to(folder):
        link.unlink()
        say(f"removed {link}")
    if (folder / "env").is_dir():
        shutil.rmtree(folder / "env")
        (folder / "lock").unlink(missing_ok=True)
        say(f"removed {folder / 'env'}")
