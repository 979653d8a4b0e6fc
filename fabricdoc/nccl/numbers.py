"""Whole numbers as NCCL reads them: C's strtoll with base 0 (misc/param.cc).

"0x" means hexadecimal, a leading 0 octal, what follows the digits is not read, and what has no digits is 0 without a
word. Whether a number is in range is `values`' matter.
"""

from __future__ import annotations

import re

NUMBER = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|\d+)(.*)", re.DOTALL | re.ASCII)
"""Sign, digits and what follows them."""

MOST_DIGITS = 20
_OCTAL = re.compile(r"[0-7]*")


def read_number(text: str) -> tuple[int, bool]:
    """The number that signed digits mean, and whether a leading 0 made it octal to somebody's surprise."""
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    digits = digits[:MOST_DIGITS]
    if digits[:2].lower() == "0x":
        return sign * int(digits, 16), False
    if len(digits) > 1 and digits[0] == "0":
        octal = _OCTAL.match(digits)
        return sign * int((octal[0] if octal else "") or "0", 8), True
    return sign * int(digits), False


def number_at_start(value: str) -> int | None:
    """The number that a value begins with, None where it has no digits there."""
    match = NUMBER.match(value[: 4 * MOST_DIGITS])
    return read_number(match[1] + match[2])[0] if match else None
