"""The shape of a text: texts that differ in numbers and addresses alone have the same one, and are one kind of line.

A retry storm says one sentence a million times with ever new counts, ports and pointers. Which row of the table a text
belongs to hangs on its words, never on which digits it holds, but for the few words with digits in them (`WORDS`). What
a row's groups are is another matter: they come from each text itself.
"""

from __future__ import annotations

import re

LONGEST = 1024
"""Characters of a text whose shape is worth keeping: NCCL's own buffer is as long."""

WORDS = ("P2P", "P2p", "p2p", "mlx5", "c10d", "10 Gbps", "MERGE_NICS=0")
"""Words with digits that needles and regexes of presets/nccl/events.csv ask for (addresses aside): kept as they are."""

_SAME = bytes.maketrans(b"123456789", b"000000000")
_ADDRESS = re.compile(rb"0x[0-9a-f]+")
_WORD = re.compile("|".join(map(re.escape, WORDS)).encode())
_PLAIN = tuple(word.encode() for word in WORDS)


def shape_of(text: str) -> bytes:
    """Every digit as 0, every address (0x...) as one mark, the words whose digits count as they are."""
    raw = text.encode("utf-8", "surrogatepass")
    if b"0x" in raw:
        raw = _ADDRESS.sub(b"\nx", raw)
    for word in _PLAIN:
        if word in raw:
            return _with_words(raw)
    return raw.translate(_SAME)


def _with_words(raw: bytes) -> bytes:
    """The shape of a text that holds some of the words, each marked so that no other can be taken for it."""
    between = b"\n".join(_WORD.split(raw)).translate(_SAME)
    return b"\n\n".join((between, *_WORD.findall(raw)))
