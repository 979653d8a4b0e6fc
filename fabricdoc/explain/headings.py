"""One paste with the dumps of several nodes, cut where headings name them, each piece with its node.

    ### node1      == spark1 ==      ==> spark1/show_gids.txt <==      [spark1]      Node 1:      --- worker ---

Also what pdsh and clush write, where each line has its node in front ([spark1] LINE, spark1: LINE). A heading names a
node only when the same tool's output stands under two names: all other headings are text. Dumps are read elsewhere.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from fabricdoc.explain.files import generic_words, node_in
from fabricdoc.files import own_folder

LONGEST_HEADING, MOST_PIECES = 100, 512
MOST_WORDS = 4
PREFIXED_SHARE = 0.8
"""Share of the lines, blank ones left out, that have a node in front where all of them were written so."""
_DECORATED = re.compile(r"(?P<mark>#+|==>|[=*<>+_~-]{2,}) *(?P<name>[^\s#=*<>+_~-].*?)[:\s]*(?P<end>[#=*<>+_~-]*)$")
_BRACKETS = re.compile(r"\[(?P<name>[^\[\]]{1,64})\] ?:?$")
_COLON = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,62}(?: [\w#.-]{1,20})?) ?:$")
_PREFIX = re.compile(r"(?:\[(?P<in>[\w.-]{1,64})\]:?|(?P<before>[A-Za-z0-9][\w.-]{0,63}):) (?P<rest>.*)$", re.DOTALL)
_HOSTLIKE = re.compile(
    r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?|\d{1,3}(?:\.\d{1,3}){3}", re.ASCII
)


@dataclass(slots=True)
class Piece:
    """Lines of one node: their numbers from 1 and their texts, without what names the node in front of each."""

    node: str
    numbers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


@cache
def words_of(kind: str) -> frozenset[str]:
    """Words of headings: `role` (what a node may be called), `counted` (other things with numbers), `ends`."""
    text = own_folder("presets").joinpath("causes", "heading_words.csv").read_text(encoding="utf-8")
    return frozenset(row["word"] for row in csv.DictReader(text.splitlines()) if row["kind"] == kind)


@cache
def _role() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(words_of('role')))})[-_ #]{{0,2}}(?:\d{{1,4}}|[a-z]\b)", re.IGNORECASE)


def pieces_of(lines: Sequence[str], hosts: Collection[str]) -> list[Piece]:
    """The pieces that headings, or a name in front of each line, mark; [] where fewer than two names are there.

    `hosts` are names that are known for hosts. Lines before the first heading are in no piece.
    """
    pieces = list(_prefixed(lines, hosts)) or list(_headed(lines, hosts))
    several = len({piece.node for piece in pieces}) > 1
    return pieces if several and len(pieces) <= MOST_PIECES else []


def proven(tools: Iterable[tuple[str, Collection[str]]]) -> frozenset[str]:
    """The nodes among (node, tools read under its name) that two or more share a tool with; the others are none."""
    listed = {(node, tool) for node, used in tools for tool in used}
    shared = Counter(tool for _node, tool in listed)
    return frozenset(node for node, tool in listed if shared[tool] > 1)


def _headed(lines: Sequence[str], hosts: Collection[str]) -> Iterator[Piece]:
    piece: Piece | None = None
    mark = ""
    for number, line in enumerate(lines, 1):
        found = _heading(line, hosts)
        if found and found[0]:
            if piece:
                yield piece
            piece, mark = Piece(found[0]), found[1]
        elif found and piece and found[1] == mark and words_of("ends") & set(line.lower().strip(" #=*:").split()):
            yield piece
            piece = None
        if piece:
            piece.numbers.append(number)
            piece.texts.append(line)
    if piece:
        yield piece


def _heading(line: str, hosts: Collection[str]) -> tuple[str, str] | None:
    """(node or "", mark) of a heading, None for another line."""
    text = line.strip()
    if not 2 < len(text) <= LONGEST_HEADING:
        return None
    if match := _DECORATED.match(text):
        name = match["name"]
        if match["mark"] == "==>" or "/" in name:
            return _of_path(name, hosts), match["mark"]
        return _name(name, hosts), match["mark"]
    match = _BRACKETS.match(text) or _COLON.match(text)
    return (_name(match["name"], hosts), "") if match else None


def _of_path(path: str, hosts: Collection[str]) -> str:
    """The node that a path (`==> spark1/show_gids.txt <==`) speaks of: its folder's, else its file's name."""
    folder, _, name = path.strip().rpartition("/")
    for part in (folder.rpartition("/")[2], node_in(name)):
        if part and (known := _name(part, hosts)):
            return known
    return ""


def _name(text: str, hosts: Collection[str]) -> str:
    """The node that a heading's words name, "" for none: a known host, a role with its number, a host's form."""
    words = [word.strip("`'\":,;()") for word in re.sub(r"\([^)]*\)", "", text).split()]
    words = [word for word in words if word]
    if not 0 < len(words) <= MOST_WORDS:
        return ""
    if known := next((word for word in words if word in hosts), ""):
        return known
    if match := _role().search(" ".join(words)):
        if len(words) == 1 and _HOSTLIKE.fullmatch(words[0]):
            return words[0]
        return match[0].strip()
    if len(words) == 1 and words[0].lower() in words_of("role"):
        return words[0]
    return next(filter(_is_host, words), "")


def _is_host(word: str) -> bool:
    """Whether a word has a host's form: letters and digits, and no word of tools or of other things with numbers."""
    counted = word.lower().rstrip("0123456789").rstrip("-.#") in words_of("counted")
    return bool(_HOSTLIKE.fullmatch(word)) and not counted and word.lower() not in generic_words() and "_" not in word


def _prefixed(lines: Sequence[str], hosts: Collection[str]) -> Iterator[Piece]:
    """One piece for each name that stands in front of lines, where nearly all lines have one."""
    named: Callable[[str], str] = cache(lambda word: _name(word, hosts))
    pieces: dict[str, Piece] = {}
    filled = 0
    for number, line in enumerate(lines, 1):
        filled += bool(line.strip())
        match = _PREFIX.match(line)
        node = named(match["in"] or match["before"]) if match else ""
        if match and node:
            piece = pieces.setdefault(node, Piece(node))
            piece.numbers.append(number)
            piece.texts.append(match["rest"])
    if sum(len(piece.numbers) for piece in pieces.values()) >= PREFIXED_SHARE * max(filled, 1):
        yield from pieces.values()
