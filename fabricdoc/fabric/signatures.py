"""What the scan probe is asked to look for in the kernel's log: ids and patterns of presets/signatures.

Stands before the first probe of a scan, so it loads nothing: importing tomllib would cost some 15 ms there. It knows
two kinds of lines of a TOML file of ours, which a test holds against tomllib. What a signature means is `checks`'.
"""

from __future__ import annotations

import re
from functools import cache

from fabricdoc.files import own_folder

_ENTRY = "[[signature]]"
_LINE = re.compile(r"""^(id|pattern) = (["'])(.*)\2$""", re.MULTILINE)


@cache
def kernel_signatures() -> tuple[dict[str, str], ...]:
    """The request's {"id", "pattern"} of each entry of presets/signatures/kernel_log.toml, in the file's order."""
    return signatures_in(own_folder("presets").joinpath("signatures", "kernel_log.toml").read_text("utf-8"))


def signatures_in(text: str) -> tuple[dict[str, str], ...]:
    """The entries of a file's text that have both an id and a pattern, each on a line of its own without escapes."""
    entries = ({key: value for key, _quote, value in _LINE.findall(part)} for part in text.split(_ENTRY)[1:])
    return tuple(one for one in entries if one.keys() == {"id", "pattern"})
