"""The shape of a text: texts that differ in numbers and addresses alone have the same one, and are one kind of line.

A retry storm says one sentence a million times with ever new counts, ports and pointers. Which row of the table a text
belongs to hangs on its words, never on which digits it holds, but for the few words with digits in them (`WORDS`). What
a row's groups are is another matter: they come from each text itself.
"""

from __future__ import annotations

import re

LONGEST = 1024
"""Characters of a text whose shape is worth keeping: NCCL's own buffer is as long."""

WORDS = ("P2P", "P2p", "p2p", "mlx5dv", "mlx5.so", "c10d", "10 Gbps", "MERGE_NICS=0")
"""Words with digits that needles and regexes of presets/nccl/events.csv ask for (addresses aside): kept as they are."""

_SAME = bytes.maketrans(b"123456789", b"000000000")
_ADDRESS = re.compile(rb"0x[0-9a-f]+")
_MARKED = tuple((word.encode(), re.sub("[0-9]+", "\n", word).encode()) for word in WORDS)


def shape_of(text: str) -> bytes:
    """Every digit as 0, every address (0x...) as one mark, and a mark of their own for digits that count."""
    raw = text.encode("utf-8", "surrogatepass")
    if b"0x" in raw:
        raw = _ADDRESS.sub(b"\nx", raw)
    for word, marked in _MARKED:
        if word in raw:
            raw = raw.replace(word, marked)
    return raw.translate(_SAME)
