"""Node sets: `node[001-128]`, `rack[1-2]n[01-16]`, `[1-9/2]`, as ClusterShell and Slurm write them, and comma lists.

Text to texts: what a word then means as a node is `nodes`' matter. Zero padding is kept, the order is that written
(ClusterShell sorts; here the first node is the first rank), a bracket's doubles count once. ClusterShell's other
operators (`!`, `&`, `^`) and wildcards are `groups`' matter: no name of a node holds those characters. A bracket with a
colon is an IPv6 address and stays as it is; so does all that follows `netns:/`, which is a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from fabricdoc.errors import UsageError

MAX_NODES = 16384
EXAMPLE = "as in node[001-128], rack[1-2]n[01-16], gpu[1,4-7]"

_BRACKET = re.compile(r"\[([^\[\]:]*)\]")
_RANGE = re.compile(r"([0-9]{1,12})(?:-([0-9]{1,12})(?:/([0-9]{1,6}))?)?", re.ASCII)
_FILE = re.compile(r"(?:[^=:/@]+=)?netns:/")


def split_list(text: str) -> list[str]:
    """The words of a comma list, without the blanks around them; commas inside brackets do not split."""
    words, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]" and depth > 0)
        if char == "," and depth == 0:
            words.append(text[start:at].strip())
            start = at + 1
    return [*words, text[start:].strip()]


def expand(word: str) -> tuple[str, ...]:
    """Every text that one word means, in the order written; a word without a set means itself.

    Raises UsageError for a bracket that is no set of numbers, or for more than 16,384 texts.
    """
    if _FILE.match(word) or not _BRACKET.search(word):
        return (word,)
    pieces = _BRACKET.split(word)
    ranges = [list(_ranges(word, inside)) for inside in pieces[1::2]]
    counts = [sum(len(numbers) for numbers, _ in parts) for parts in ranges]
    check_count(prod(counts), word)
    numbers = [list(dict.fromkeys(text for part in parts for text in _texts(*part))) for parts in ranges]
    return tuple("".join(_woven(pieces[::2], chosen)) for chosen in product(*numbers))


def expand_item(item: str) -> tuple[str, ...]:
    """Every `[NAME=]TARGET` that one such item means.

    A set in the name and one in the target go side by side (`n[1-2]=10.0.0.[5-6]`), so both must mean equally many.
    """
    head, equals, rest = item.partition("=")
    if not equals or any(char in head for char in ":/@"):
        return expand(item)
    names, targets = expand(head), expand(rest)
    if len(names) != len(targets):
        raise UsageError(
            f"{item!r}: {len(names)} names for {len(targets)} targets",
            fix="write sets of one size on both sides: n[1-2]=10.0.0.[5-6]",
        )
    return tuple(f"{name}={target}" for name, target in zip(names, targets, strict=True))


def expand_all(items: Sequence[str]) -> list[str]:
    """The words of comma lists, expanded, in order: at most 16,384. Raises UsageError."""
    words: list[str] = []
    for item in items:
        for part in split_list(item):
            words += expand_item(part)
            check_count(len(words), item)
    return words


def check_count(count: int, word: str) -> None:
    """Raise UsageError above the number of nodes one command may name."""
    if count > MAX_NODES:
        raise UsageError(f"{word[:80]!r} means {count} nodes, at most {MAX_NODES} can be named", fix="name fewer nodes")


def _ranges(word: str, inside: str) -> Iterator[tuple[range, int]]:
    """(numbers, digits to pad to; 0: none) of each part of a bracket."""
    for part in inside.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{word!r}: {part!r} is no range of numbers", fix=f"write a set {EXAMPLE}")
        yield _range(word, part.strip(), *match.groups())


def _range(word: str, part: str, first: str, last: str | None, step: str | None) -> tuple[range, int]:
    last = first if last is None else last
    if int(last) < int(first):
        raise UsageError(f"{word!r}: {part} runs backwards", fix=f"write a set {EXAMPLE}")
    if step is not None and int(step) == 0:
        raise UsageError(f"{word!r}: {part} has a step of 0", fix=f"write a set {EXAMPLE}")
    width = max(len(end) if _padded(end) else 0 for end in (first, last))
    if width and len(first) != len(last):
        raise UsageError(f"{word!r}: the ends of {part} have {len(first)} and {len(last)} digits", fix=_pad_fix(part))
    return range(int(first), int(last) + 1, int(step or 1)), width


def _padded(number: str) -> bool:
    return len(number) > 1 and number.startswith("0")


def _pad_fix(part: str) -> str:
    first, last = re.split("[-/]", part)[:2]
    width = max(len(first), len(last))
    return f"give both ends one width: {first.zfill(width)}-{last.zfill(width)}"


def _texts(numbers: range, width: int) -> Iterator[str]:
    return (str(number).zfill(width) for number in numbers)


def _woven(fixed: Sequence[str], chosen: Sequence[str]) -> Iterator[str]:
    for text, number in zip(fixed, (*chosen, ""), strict=True):
        yield text
        yield number
