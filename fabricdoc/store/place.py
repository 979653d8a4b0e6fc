"""Where the store file is, and whose files we make: under sudo they are the calling user's, not root's.

Makes folders and empty files only; it opens no database and never follows a link when it gives a file away.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import StoreError
from fabricdoc.files import home_folder


@dataclass(frozen=True)
class Owner:
    """The user whose store it is: user id, group id and home folder."""

    uid: int
    gid: int
    home: Path


def sudo_owner(environ: Mapping[str, str] | None = None, euid: int | None = None) -> Owner | None:
    """The user who called sudo, or None when nobody did (or root did). Facts: sudo(8), SUDO_UID."""
    environ = os.environ if environ is None else environ
    if (os.geteuid() if euid is None else euid) != 0 or "SUDO_USER" not in environ:
        return None
    text = environ.get("SUDO_UID", "")
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        return None
    try:
        user = pwd.getpwuid(int(text))
    except (KeyError, OverflowError):
        return None
    return Owner(user.pw_uid, user.pw_gid, Path(user.pw_dir))


def default_path(environ: Mapping[str, str] | None = None) -> Path:
    """`$XDG_STATE_HOME/fabricdoc/runs.sqlite`, else under ~/.local/state (under sudo: the calling user's home).

    Raises StoreError for a user without a home.
    """
    environ = os.environ if environ is None else environ
    state = environ.get("XDG_STATE_HOME", "")
    if state.startswith("/"):  # the specification says to ignore a relative one
        return Path(state) / "fabricdoc" / "runs.sqlite"
    owner = sudo_owner(environ)
    home = owner.home if owner else home_folder()
    if home is None:
        raise StoreError(
            f"there is no home folder to keep runs in: HOME is not set, and user {os.geteuid()} has no entry",
            fix="set HOME or XDG_STATE_HOME, or name a file with --store",
        )
    return home / ".local" / "state" / "fabricdoc" / "runs.sqlite"


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


def give_away(path: Path) -> None:
    """Under sudo, make `path` (itself, never what a link points at) the calling user's. Raises OSError."""
    owner = sudo_owner()
    if owner is not None:
        os.chown(path, owner.uid, owner.gid, follow_symlinks=False)
