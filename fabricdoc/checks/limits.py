"""Where a number starts to be a finding: presets/checks/limits.toml, read once. No judgement here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fabricdoc.files import own_folder


def limit(family: str, name: str) -> float:
    """One number of the file; KeyError for one that is not there. Units are in the name."""
    return float(checks_data("limits")[family][name])


def checks_data(name: str) -> Mapping[str, Any]:
    """presets/checks/NAME.toml as it stands."""
    return preset("checks", name)


@cache
def preset(folder: str, name: str) -> Mapping[str, Any]:
    """presets/FOLDER/NAME.toml, read once."""
    import tomllib

    path = own_folder("presets").joinpath(folder, f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
