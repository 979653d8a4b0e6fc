"""Whose files we make under sudo: the calling user's, not root's. Makes none itself, and never follows a link."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """The user behind sudo: user id, group id and home folder."""

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


def give_away(path: Path) -> None:
    """Under sudo, make `path` (itself, never what a link points at) the calling user's. Raises OSError."""
    owner = sudo_owner()
    if owner is not None:
        os.chown(path, owner.uid, owner.gid, follow_symlinks=False)
