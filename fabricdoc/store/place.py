"""Where the store file is; under sudo what is made here is the calling user's, not root's.

Makes folders and empty files only; it opens no database.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from fabricdoc.errors import StoreError
from fabricdoc.sudo import give_away, sudo_owner


def default_path(environ: Mapping[str, str] | None = None) -> Path:
    """`$XDG_STATE_HOME/fabricdoc/runs.sqlite`, else under ~/.local/state (under sudo: the calling user's home).

    Raises StoreError for a user without any home.
    """
    environ = os.environ if environ is None else environ
    state = environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):  # the specification says to ignore a relative one
        return Path(state) / "fabricdoc" / "runs.sqlite"
    owner = sudo_owner(environ)
    home = owner.home if owner else _home(environ)
    return home / ".local" / "state" / "fabricdoc" / "runs.sqlite"


def _home(environ: Mapping[str, str]) -> Path:
    """$HOME, else the home this user has in passwd."""
    home = environ.get("HOME", "")
    if home.startswith("/"):
        return Path(home)
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        raise StoreError(
            f"no place for the run store: user {os.geteuid()} has no HOME and is not in passwd",
            fix="name a file with --store, or set HOME or XDG_STATE_HOME",
        ) from None


def make_folder(folder: Path) -> None:
    """Make `folder` and its missing parents (mode 700), owned by the calling user under sudo. Raises OSError."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for level in reversed(missing):
        level.mkdir(mode=0o700, exist_ok=True)
        give_away(level)


def make_file(path: Path) -> None:
    """Make an empty file (mode 600) unless one is there, owned by the calling user under sudo. Raises OSError.

    SQLite gives its -wal and -shm files the owner of the database file, so this one is enough.
    """
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    os.close(handle)
    give_away(path)
