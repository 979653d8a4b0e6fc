"""The shape of a text: texts that differ in numbers and addresses alone have the same one, and are one kind of line.

A log says one sentence a million times with ever new counts, ports and pointers. Which row of the table a text belongs
to hangs on its words, never on which digits it holds, but for the few words with digits in them (`WORDS`). What a row's
groups are is another matter: they come from each text itself.

A whole block can be given its shape at once: marks, line ends and blanks stay what they are, so that the pieces of the
shape are the shapes of the pieces.
"""

from __future__ import annotations

import re

LONGEST = 2048
"""Bytes of a shape worth keeping: NCCL's own buffer is 1 KiB, a tree line of 64 channels 1.4 KiB."""

WORDS = ("P2P", "P2p", "p2p", "mlx5dv", "mlx5.so", "c10d", "10 Gbps", "MERGE_NICS=0")
"""Words with digits that needles and regexes of presets/nccl/events.csv ask for (addresses aside): kept as they are."""

_MARK = b"\xff"
"""Stands for what was there; no byte of UTF-8 is like it."""
_SAME = bytes.maketrans(b"123456789", b"000000000")
_ADDRESS = re.compile(rb"0x[0-9a-f]+")
_CALL = re.compile(rb"opCount [0-9a-f]+")
_MARKED = tuple((word.encode(), re.sub(b"[0-9]+", _MARK, word.encode())) for word in WORDS)


def shape_of(text: str) -> bytes:
    """Every digit as 0, every address (0x...) as one mark, and a mark of their own for digits that count."""
    raw = text.encode("utf-8", "surrogatepass")
    if b"0x" in raw:
        raw = _ADDRESS.sub(b"\xffx", raw)
    if b"opCount " in raw:
        raw = _CALL.sub(b"opCount 0", raw)
    for word, marked in _MARKED:
        if word in raw:
            raw = raw.replace(word, marked)
    return raw.translate(_SAME)
