"""Writers of a preset's variables, one per kind of reader, and the choice of the node they are for.

Public: `render`, `choose_node`, `write_all`, `FORMATS`, `format_named`. Nothing here measures, judges or touches a
node; a value that a reader would change is refused with the reason, never quoted into something else.
"""

from fabricdoc.export.choose import choose_node
from fabricdoc.export.files import write_all
from fabricdoc.export.render import render
from fabricdoc.export.rules import FORMATS, Format, format_named

__all__ = ["FORMATS", "Format", "choose_node", "format_named", "render", "write_all"]
