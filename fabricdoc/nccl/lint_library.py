"""The NCCL that settings are meant for: a version that the user names, a library's file, or the one this machine has.

A file is searched for its version and for the names of variables in it, within bounds, and never loaded. On this
machine libraries are looked for as the dynamic loader does, then among the packages of this python.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from fabricdoc.errors import InputError
from fabricdoc.nccl.values import ANY, Nccl
from fabricdoc.nccl.versions import parse_release
from fabricdoc.probes.libraries import NCCL, Search
from fabricdoc.probes.library_file import nccl_variables, nccl_version

WHATEVER = "any"
"""The user's word for: judge for every release alike."""
FEWEST = 20
"""Names below which a file's text is taken for a stripped or foreign one and not as the list of what it reads."""


def chosen_nccl(word: str, environ: Mapping[str, str], packages: Sequence[str] = ()) -> Nccl:
    """What `--nccl` names: `any`, a release, a library's path; without a word what is found here, else any.

    InputError where the word is neither a release nor the file of an NCCL.
    """
    if word == WHATEVER:
        return ANY
    if word and (release := parse_release(word.removeprefix("v"))) and not Path(word).exists():
        return Nccl(release, None, f"NCCL {'.'.join(map(str, release))}")
    if word:
        return _given(word)
    return _found(environ, packages)


def _given(path: str) -> Nccl:
    file = Path(path) / NCCL if Path(path).is_dir() else Path(path)
    nccl = library(str(file))
    if nccl is None:
        raise InputError(
            f"--nccl {path!r} is no release and no file of NCCL",
            fix="give a release (2.28.9), the path of a libnccl.so.2, or any",
        )
    return nccl


def _found(environ: Mapping[str, str], packages: Sequence[str]) -> Nccl:
    for path in Search("", environ, packages or sys.path).find(NCCL):
        if nccl := library(path):
            return nccl
    return ANY


def library(path: str) -> Nccl | None:
    """What a library's file says of itself; None where it can't be read or names no version of NCCL."""
    try:
        version = nccl_version(path)
        release = parse_release(version) if isinstance(version, str) else None
        names = nccl_variables(path) if release else []
    except (OSError, ValueError):
        return None
    if release is None:
        return None
    return Nccl(release, frozenset(names) if len(names) >= FEWEST else None, f"NCCL {version} ({path})")
