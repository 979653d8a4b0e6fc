"""The names that a mistyped one may have meant: one rule for variables, candidates, profiles and nodes alike.

A name is near when it is a slip of the finger away (letters left out, doubled, swapped or wrong, as many as its length
allows), or when every word of it is near a word of the known one (`lama-70b` is near `llama-3.3-70b-tp2`). Names that
share a beginning and nothing else are not near. Reads nothing, and judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

LONGEST = 64
"""Letters of a name that are compared."""
LETTERS_A_SLIP = 4
"""Letters in which one slip is likely to be one."""
LETTERS_OF_A_WORD = 3
"""Letters that the longest word of a name has, for its words to be compared: shorter ones are near too many."""
MOST_SLIPS = 3
FAR = MOST_SLIPS + 1
HARDLY_FARTHER = 0.5
"""Names farther than the nearest one by more are not meant."""
_WORDS = re.compile(r"[A-Za-z]+|[0-9]+[A-Za-z]?")


def nearest_names(name: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Up to `most` of the known names that `name` may have meant, nearest first; () where none is near.

    Case does not count. In some 300 names it takes a few milliseconds.
    """
    typed = name[:LONGEST].lower()
    if not typed:
        return ()
    found = [(distance, one) for one in known if (distance := _far(typed, one[:LONGEST].lower())) < FAR]
    found.sort(key=lambda pair: pair[0])
    return tuple(one for distance, one in found[:most] if distance <= found[0][0] + HARDLY_FARTHER)


def meant(name: str, known: Sequence[str], most: int = 3) -> str:
    """`did you mean A or B?`, or "" where nothing is near."""
    near = nearest_names(name, known, most)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _far(typed: str, known: str) -> float:
    """How far apart: slips of the whole, else of the words (half a slip more); `FAR` where neither is near."""
    start = _common(typed, known)
    left, right = typed[start:], known[start:]
    allowed = _slips(max(len(left), 1) if start else len(typed))
    distance = edits(left, right, min(allowed, MOST_SLIPS))
    if distance <= allowed:
        return distance
    return _far_in_words(typed, known)


def _common(typed: str, known: str) -> int:
    """Where the first word ends that both begin with (`nccl_`): it tells nothing about the rest."""
    head, sign, _ = typed.partition("_")
    return len(head) + 1 if sign and known.startswith(f"{head}_") else 0


def _slips(length: int) -> int:
    return min(MOST_SLIPS, max(1, length // LETTERS_A_SLIP))


def _far_in_words(typed: str, known: str) -> float:
    """Every word that was typed near a word of its own in the known name; words that are lacking cost a little.

    Names of one family (`nccl_`) may have their words in another order, and lack one or hold one too many; any other
    name begins with the same word, and may be a part of the known one.
    """
    start = _common(typed, known)
    mine, theirs = _words(typed[start:]), _words(known[start:])
    if not mine or max(map(len, mine)) < LETTERS_OF_A_WORD or len(mine) > len(theirs) + 1 - bool(start):
        return FAR
    if start and len(theirs) > len(mine) + 1:
        return FAR
    total, free = 0.5, list(theirs)
    for place, word in enumerate(mine):
        choice = free if start or place else free[:1]
        distance, best = min(((_apart(word, one), one) for one in choice), default=(FAR, ""))
        if distance > 1:
            return FAR
        free.remove(best)
        total += distance
    return total + 0.1 * len(free)


def _apart(word: str, known: str) -> int:
    """0 for the same word, 1 for a slip away or one that the other begins with, else `FAR`."""
    if word == known:
        return 0
    if min(len(word), len(known)) < LETTERS_A_SLIP:
        return FAR
    return 1 if word.startswith(known) or known.startswith(word) or edits(word, known, 1) == 1 else FAR


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(name))


def edits(one: str, other: str, most: int) -> int:
    """Letters to leave out, add, change or swap with their neighbour between two words; `most` + 1 for any more."""
    if abs(len(one) - len(other)) > most or len(set(one) ^ set(other)) > 2 * most:
        return most + 1  # a slip changes two letters of the set at most
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        older, before, row = before, row, [place]
        for at, against in enumerate(other, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != against))
            if older and at > 1 and letter == other[at - 2] and one[place - 2] == against:
                cost = min(cost, older[at - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
