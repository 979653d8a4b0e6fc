"""What of a line can be quoted verbatim: one with colours in it, in JSON, or joined after a wrap, is not its text.

The text stays for rules; evidence quotes the longest part that stands in the file as it is.
"""

from __future__ import annotations

import re
from dataclasses import replace

from fabricdoc.explain.seen import Material, Spot

_BREAKS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    r'|^\{"log":"|\\n","stream":|\\u[0-9a-f]{4}'
)


def quote(material: Material, whole: str) -> None:
    """Give every place of a short file its quote, where its text is not verbatim in its line."""
    lines = whole.split("\n")
    material.seen = [replace(one, spot=quoted(one.spot, lines)) for one in material.seen]
    material.sets = [replace(one, spot=quoted(one.spot, lines)) for one in material.sets]
    material.facts = [replace(one, spot=quoted(one.spot, lines)) for one in material.facts]
    material.signs = [replace(one, spot=quoted(one.spot, lines)) for one in material.signs]
    material.rows = [replace(one, spot=quoted(one.spot, lines)) for one in material.rows]


def quoted(spot: Spot, lines: list[str]) -> Spot:
    """A place with its quote; as it is where its text stands in the line."""
    raw = lines[spot.line - 1] if 0 < spot.line <= len(lines) else spot.text
    if spot.text.strip() in raw:
        return spot
    pieces = [piece.strip() for piece in _BREAKS.split(raw)]
    fitting = [piece for piece in pieces if piece and piece in spot.text] or pieces
    return replace(spot, quote=max(fitting, key=len, default=""))
