"""The shape of a text: texts that differ in numbers and addresses alone have the same one, and are one kind of line.

A log says one sentence a million times with ever new counts, ports and pointers. Which row of the table a text belongs
to hangs on its words, never on which digits it holds, but for the few words with digits in them (`WORDS`): a shape that
may hold one of them answers only for texts that do (`digit_words`, `holds`). What a row's groups are is another matter:
they come from each text itself.

A whole block can be given its shape at once: marks, line ends and blanks stay what they are, so that the pieces of the
shape are the shapes of the pieces.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 2048
"""Bytes of a shape worth keeping: NCCL's own buffer is 1 KiB, a tree line of 64 channels 1.4 KiB."""

WORDS = ("P2P", "maxP2pPeers", "p2p channels", "mlx5dv", "mlx5.so", "c10d", " 10 Gbps", "MERGE_NICS=0")
"""Words with digits that needles and regexes of presets/nccl/events.csv ask for (addresses aside)."""

_SAME = bytes.maketrans(b"123456789", b"000000000")
_HEX = b"0123456789abcdef"
_ADDRESS = b"\xffx"
"""Stands for 0x and what follows; no byte of UTF-8 is like its first."""
_CALL = b"opCount "
_SHAPED = tuple((word, word.encode().translate(_SAME)) for word in WORDS)

DigitWords = tuple[tuple[str, int], ...]
"""Words with digits, each with how often a text must hold it."""


def shape_of(text: str) -> bytes:
    """Every digit as 0; every address (0x...) and every call's number, which is hexadecimal too, as one mark."""
    raw = text.encode("utf-8", "surrogatepass")
    if b"0x" in raw:
        raw = _without_hex(raw.split(b"0x"), _ADDRESS)
    if _CALL in raw:
        raw = _without_hex(raw.split(_CALL), _CALL)
    return raw.translate(_SAME)


def _without_hex(parts: Sequence[bytes], mark: bytes) -> bytes:
    """Parts joined by a mark, each but the first without the hexadecimal digits it begins with."""
    return mark.join((parts[0], *[part.lstrip(_HEX) for part in parts[1:]]))


def digit_words(shape: bytes) -> DigitWords:
    """The words with digits that a text of this shape may hold, each with how often."""
    return tuple((word, shape.count(shaped)) for word, shaped in _SHAPED if shaped in shape)


def holds(text: str, words: DigitWords) -> bool:
    """Whether a text holds each of the words as often as its shape may: then it is none of others' digits."""
    return all(text.count(word) == often for word, often in words)
