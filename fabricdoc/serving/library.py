"""Finding profiles by name: in `--presets` folders first, then the user's own, then the shipped ones.

Looks only; reading and checking is `reading`'s job.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from fabricdoc.errors import UsageError
from fabricdoc.files import expanded, home_folder, own_folder, read_text
from fabricdoc.model.profile import Profile
from fabricdoc.near import meant
from fabricdoc.serving.models import FOLDER, model_names, model_profile
from fabricdoc.serving.reading import parse_profile, read_profile

LIST = "fabricdoc profile list"


def load_profile(name_or_path: str | Path, extra_dirs: Sequence[Path] = ()) -> Profile:
    """The profile of that name, or in that file (anything with a `/` or ending in .toml or .json).

    A name is looked up in `profiles/` of each folder of `extra_dirs`, then in the user's
    ($XDG_CONFIG_HOME/fabricdoc/presets), then among the shipped ones; the first one wins. Raises UsageError naming
    the nearest names, or InputError for a file that can't be read.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith((".toml", ".json")):
        return read_profile(expanded(Path(text)))
    found = _found(extra_dirs).get(text)
    if found is None:
        raise _unknown(text, list_profiles(extra_dirs))
    file, tp = found
    return _read(file) if tp is None else model_profile(_text(file), str(file), text, tp)


def list_profiles(extra_dirs: Sequence[Path] = ()) -> tuple[str, ...]:
    """The names that `load_profile` knows, sorted."""
    return tuple(sorted(_found(extra_dirs)))


def _found(extra_dirs: Sequence[Path]) -> dict[str, tuple[Traversable, int | None]]:
    """The file of every name; with TP where it is one of a model's. In one folder a profile's own file wins."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(config) if config.startswith("/") else (home_folder() or Path("/")) / ".config"
    own = home / "fabricdoc" / "presets"
    found: dict[str, tuple[Traversable, int | None]] = {}
    for folder in (*extra_dirs, own, own_folder("presets")):
        for file in _toml_files(folder / "profiles"):
            found.setdefault(file.name.removesuffix(".toml"), (file, None))
        for name, place in model_names(_toml_files(folder / "profiles" / FOLDER)):
            found.setdefault(name, place)
    return found


def _toml_files(folder: Traversable) -> list[Traversable]:
    try:
        return [file for file in folder.iterdir() if file.name.endswith(".toml")]
    except OSError:
        return []


def _read(found: Traversable) -> Profile:
    return read_profile(found) if isinstance(found, Path) else parse_profile(_text(found), str(found))


def _text(found: Traversable) -> str:
    return read_text(found, f"profile {found}") if isinstance(found, Path) else found.read_text(encoding="utf-8")


def _unknown(name: str, known: Sequence[str]) -> UsageError:
    guess = meant(name, known)
    fix = f"{guess} See: {LIST}" if guess else f"see which there are ({len(known)}): {LIST}"
    return UsageError(f"there is no profile {name!r}", fix=fix, id="unknown-profile")
