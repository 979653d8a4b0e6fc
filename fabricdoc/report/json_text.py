"""Documents as JSON text: ASCII only, so no encoding and no terminal can harm it; no NaN, which isn't JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")


def json_text(payload: BaseModel | dict[str, Any], *, one_line: bool = False) -> str:
    """One JSON document with a final line break. A model's infinities and NaN become null; a dict's are ValueError."""
    indent = None if one_line else 2
    if not isinstance(payload, dict):
        return _BEYOND_ASCII.sub(_escaped, payload.model_dump_json(by_alias=True, indent=indent)) + "\n"
    return json.dumps(payload, indent=indent, allow_nan=False) + "\n"


def _escaped(match: re.Match[str]) -> str:
    """JSON's own escape; characters beyond the basic plane as a pair of surrogates."""
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
