"""The curated starting presets under presets/starting: read, checked, and found by platform and shape.

They are values that others use on such machines, each with its source; nothing in them was measured on the nodes they
are written for. Looks at no node.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ValidationError

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import own_folder, parse_toml
from fabricdoc.model.documents import Frozen
from fabricdoc.model.selectors import SetName

Shape = Literal["pair", "ring", "switch", "rails"]


class CuratedLine(Frozen):
    """A variable that all nodes share, why it is set and who says so."""

    name: str
    value: str
    why: str
    source: str


class LeftOut(Frozen):
    """A variable that is often set on such machines and is not set here, and why."""

    name: str
    why: str


class Starting(Frozen):
    """One curated preset: for which platform, shape and numbers of nodes and cables it is, and what it sets.

    `gpus` are words one of which a GPU's name must hold, none for any. `nodes` and `cables` are the least and the most.
    `ports` are names of the selectors' sets, the first that a fabric has is taken.
    """

    name: str
    platform: str
    gpus: tuple[str, ...] = ()
    shape: Shape
    nodes: tuple[int, int]
    cables: tuple[int, int] = (1, 4096)
    ports: tuple[SetName, ...]
    summary: str
    source: str
    lines: tuple[CuratedLine, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def starting_presets() -> tuple[Starting, ...]:
    """All that are shipped, by name."""
    folder = own_folder("presets").joinpath("starting")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(_read(file.name.removesuffix(".toml"), file.read_text(encoding="utf-8")) for file in files)


def _read(name: str, text: str) -> Starting:
    try:
        return Starting.model_validate({"name": name, **parse_toml(text)})
    except (ValueError, ValidationError) as error:
        raise InputError(f"starting preset {name}: {error}") from error


def of_platform(platform: str) -> tuple[Starting, ...]:
    """Those of one platform; UsageError naming the platforms there are."""
    every = starting_presets()
    found = tuple(one for one in every if one.platform == platform)
    if not found:
        known = ", ".join(dict.fromkeys(one.platform for one in every))
        raise UsageError(f"there is no platform {platform!r}", fix=f"use one of: {known}", id="platform")
    return found
