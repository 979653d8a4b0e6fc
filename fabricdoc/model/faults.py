"""What a file that is no valid document says first: the place and what is wrong there, for one line of an error.

For files of the user's own; what a node sends is cut short where it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


def first_fault(error: ValidationError) -> str:
    """The first mistake as "nodes[0].name: Field required"; "the document" where it is of no single place."""
    first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    return f"{place or 'the document'}: {first['msg']}"
