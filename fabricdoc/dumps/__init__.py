"""Fabrics from files: dumps of ours, and the text that users paste from other tools.

Public: `save` (a fabric to a folder that can be read again, also anonymised), `check_folder` (whether it may go there),
`read_dumps` (files to nodes, with what could not be read and where every fact stood), `read_text` (one text to facts
and the lines they stood on). Nothing here asks a node, and nothing is guessed: text of no known tool is named with its
lines, a fact that no file holds is `Unknown`. Judgement is in `checks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.dumps.parts import read_text
    from fabricdoc.dumps.reading import Replay, read_dumps
    from fabricdoc.dumps.saving import check_folder, save
    from fabricdoc.dumps.told import Note, Part, Place, Reading, Sources, Told

HOMES = {
    "parts": ("read_text",),
    "reading": ("Replay", "read_dumps"),
    "saving": ("check_folder", "save"),
    "told": ("Note", "Part", "Place", "Reading", "Sources", "Told"),
}

__all__ = [
    "Note",
    "Part",
    "Place",
    "Reading",
    "Replay",
    "Sources",
    "Told",
    "check_folder",
    "read_dumps",
    "read_text",
    "save",
]


__getattr__ = opened(__name__, HOMES)
