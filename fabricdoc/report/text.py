"""Values as text for people: untrusted text made harmless, sizes, times, counts, facts.

No terminal, no colour, no rich here; every function is pure and returns a plain string.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from fabricdoc.model.documents import Fact

T = TypeVar("T")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_KIB = 1024
UNKNOWN = "?"


def clean(text: object) -> str:
    """Text that can do nothing to a terminal: controls, escapes, bidi marks and the like become visible.

    A line break becomes `\\n`, ESC becomes `\\x1b`, others `\\uXXXX`; all else stays as it is.
    """
    value = str(text)
    if value.isascii() and value.isprintable():
        return value
    return "".join(_visible(letter) if unicodedata.category(letter) in _HIDDEN else letter for letter in value)


def to_paste(reason: str) -> tuple[str, str]:
    """A reason and the words to paste that end it in backticks, which get a line of their own ("" where none do)."""
    match = re.fullmatch(r"(.*\S)\s*`([^`]+)`", reason)
    return (match[1], match[2]) if match else (reason, "")


def _visible(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def size_text(size: int) -> str:
    """Bytes as `8 B`, `20 KiB`, `1.5 MiB`; exact multiples have no decimals."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < _KIB:
            break
        value, unit = value / _KIB, larger
    return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"


def micros_text(micros: float) -> str:
    """Microseconds with three significant digits below 100, whole numbers with separators above."""
    if micros >= 100:
        return f"{micros:,.0f}"
    return f"{micros:.1f}" if micros >= 10 else f"{micros:.2f}"


def seconds_text(seconds: float) -> str:
    """Seconds as `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def ratio_text(ratio: float) -> str:
    """A ratio with two or three significant digits: 0.96, 1.04, 12.5."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 1000 else f"{ratio:.3g}"


def percent_text(part: float) -> str:
    """A part of one as per cent: 0.042 is `4.2 %`."""
    return f"{part * 100:.1f} %" if part < 0.1 else f"{part * 100:.0f} %"


def effect_text(effect: float) -> str:
    """An effect given as a ratio minus 1, in a verdict's own two digits: `3.4 %`, from twice `4.6x`."""
    return f"{two_digits(effect * 100)} %" if effect < 1 else f"{two_digits(1 + effect)}x"


def two_digits(value: float) -> str:
    """Two significant digits, never in powers of ten: 0.83, 7.4, 16, 120."""
    rounded = float(f"{value:.2g}")
    if rounded == 0 or abs(rounded) >= 10:
        return f"{rounded:.0f}"
    return f"{rounded:.1f}" if abs(rounded) >= 1 else f"{rounded:.2g}"


def rate_text(mbps: float) -> str:
    """Mbit/s as the word on the box: `200 Gb/s`, `2.5 Gb/s`, `100 Mb/s`."""
    return f"{mbps / 1000:g} Gb/s" if mbps >= 1000 else f"{mbps:g} Mb/s"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 node`, `2 nodes`; `plural` where adding an s is wrong."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def columns(text: str) -> int:
    """How many columns clean text takes on a terminal: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_columns(letter) for letter in text)


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    """The beginning of clean text that fits `width` columns."""
    while columns(text) > width:
        text = text[:-1]
    return text


def fact_text(fact: Fact[T], show: Callable[[T], str] = str) -> str:
    """A fact's value, or `?` when it is unknown (say why beside it)."""
    from fabricdoc.model.documents import Unknown

    return UNKNOWN if isinstance(fact, Unknown) else show(fact)
