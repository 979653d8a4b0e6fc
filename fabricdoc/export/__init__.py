"""Writers of a preset's variables, one per kind of reader, and the choice of the node they are for.

Public: `render`, `env_file`, `left_out`, `write_all` (the texts), `choose_node`, `choose_part`, `FORMATS`,
`format_named`, and `judge_delivery` (did the variables arrive?). Nothing here measures; a value that a reader would
change is refused with the reason, never quoted into something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.export.arrival import values_in
    from fabricdoc.export.choose import choose_node, choose_part, this_node
    from fabricdoc.export.delivery import delivery_status, judge_delivery
    from fabricdoc.export.files import write_all
    from fabricdoc.export.formats import FORMATS, Format, format_list, format_named
    from fabricdoc.export.policy import wanted_lines
    from fabricdoc.export.rendering import env_file, left_out, render
    from fabricdoc.export.starting import starting_preset
    from fabricdoc.export.validity import check_valid

HOMES = {
    "arrival": ("values_in",),
    "choose": ("choose_node", "choose_part", "this_node"),
    "delivery": ("delivery_status", "judge_delivery"),
    "files": ("write_all",),
    "formats": ("FORMATS", "Format", "format_list", "format_named"),
    "policy": ("wanted_lines",),
    "rendering": ("env_file", "left_out", "render"),
    "starting": ("starting_preset",),
    "validity": ("check_valid",),
}

__all__ = [
    "FORMATS",
    "Format",
    "check_valid",
    "choose_node",
    "choose_part",
    "delivery_status",
    "env_file",
    "format_list",
    "format_named",
    "judge_delivery",
    "left_out",
    "render",
    "starting_preset",
    "this_node",
    "values_in",
    "wanted_lines",
    "write_all",
]


__getattr__ = opened(__name__, HOMES)
