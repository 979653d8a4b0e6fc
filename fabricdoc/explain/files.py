"""The files behind the paths a user names, each with the name that evidence gives it and the node its name speaks of.

Folders are walked without following links. Nothing is opened here.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from fabricdoc.errors import InputError
from fabricdoc.files import own_folder

MOST_FILES = 10_000
DEEPEST = 8
MOST_WORDS = 16
STDIN = "-"

_SUFFIX = re.compile(r"\.(?:txt|log|out|err|json0?|text|md|dump|env|conf|ya?ml|sh|gz|zst|zstd|cfg|ini|toml|csv)$", re.I)
_TOKEN = re.compile(r"[-_. ]+")
_ADDRESS = re.compile(r"(?:ip-)?\d{1,3}(?:-\d{1,3}){3}|\d{1,3}(?:\.\d{1,3}){3}")
_ROLES = frozenset({"node", "host", "server", "machine", "pod", "worker"})
"""Words that name no node alone, and do with a number behind them: node_1, server-2."""
_NUMBER = re.compile(r"(?:(?:rank|pid|gpu|worker_?rank|r)?\d+|part\d+|v\d+|\d+gpus?|x\d+|tp\d+|pp\d+|n\d+x\d+)", re.I)
_DUMPS = re.compile(
    r"addrs?|devinfo|dmesg|ethtool|gids|ibdev2netdev|ibstat(?:us)?|ipaddr|links?|lsmod|lspci|neigh|routes?|sysctl"
)
"""Words of dumps: of two files that differ in a number alone, these are two nodes' (logs may be two ranks')."""
_IP_OBJECTS = frozenset({"a", "l", "n", "r", "s"})


@cache
def generic_words() -> frozenset[str]:
    """Words of file names that name no node."""
    text = own_folder("presets").joinpath("causes", "file_words.csv").read_text(encoding="utf-8")
    return frozenset(text.split()[1:])


@dataclass(frozen=True, slots=True)
class Given:
    """A file to read (`path` None is stdin), its name in evidence, and the node told by its name ("" for none)."""

    path: Path | None
    name: str
    node: str = ""


def listed(paths: Sequence[str]) -> list[Given]:
    """Every file at or below `paths`, in natural order; `-` is stdin. InputError for a path that is not there.

    Names are relative to the folder that was given, where it is the only path; else as they were given.
    """
    found: list[Given] = []
    folders = {_folder_node(Path(text)) for text in paths if text != STDIN and Path(text).is_dir()} - {""}
    for text in paths:
        if text == STDIN:
            found.append(Given(None, STDIN))
            continue
        path = Path(text)
        if not os.path.lexists(path):
            raise InputError(f"{text[:200]}: there is no such file or folder", fix="fabricdoc explain PATH...")
        if path.is_dir():
            found += _below(path, alone=len(paths) == 1, named=_folder_node(path) if len(folders) > 1 else "")
        else:
            found.append(Given(path, text, node_in(path.name)))
    unique = {os.path.realpath(one.path) if one.path else STDIN: one for one in found}
    return _told_apart(list(unique.values())[:MOST_FILES])


def _folder_node(path: Path) -> str:
    """The node that a folder's name speaks of: of several that are given, each may be one's."""
    return node_in(path.resolve().name)


def _told_apart(found: list[Given]) -> list[Given]:
    """Dumps whose names differ in a numbered word alone are of the nodes that this word counts: gpu11_show_gids.txt."""
    alike: dict[tuple[str, int, tuple[str, ...]], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, one in enumerate(found):
        folder, _slash, name = one.name.rpartition("/")
        words = _words(name)
        for at, word in enumerate(words if not one.node and len(words) <= MOST_WORDS else ()):
            rest = tuple(other.lower() for other in (*words[:at], *words[at + 1 :]))
            if any(mark.isdecimal() for mark in word) and any(_DUMPS.fullmatch(other) for other in rest):
                alike[folder, at, rest][word].append(place)
    for words_of in alike.values():
        for word, places in words_of.items() if len(words_of) > 1 else ():
            for place in places:
                found[place] = replace(found[place], node=word[:64])
    return found


def _words(name: str) -> list[str]:
    return [word for word in _TOKEN.split(_stem(name)) if word]


def _stem(name: str) -> str:
    while _SUFFIX.search(name):
        name = _SUFFIX.sub("", name)
    return name


def _below(top: Path, *, alone: bool, named: str = "") -> list[Given]:
    walked = list(_walk(top, DEEPEST))[:MOST_FILES]
    folders = {path.relative_to(top).parts[0] for path in walked if len(path.relative_to(top).parts) > 1}
    several = len([one for one in folders if node_in(one)]) > 1
    found = []
    for path in walked:
        inside = path.relative_to(top)
        node = node_in(inside.parts[0]) if several and len(inside.parts) > 1 else ""
        found.append(Given(path, str(inside if alone else top / inside), node or named or node_in(path.name)))
    return found


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda one: natural(one.name))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or entry.name in (".git", "__pycache__"):
            continue
        if entry.is_dir():
            if depth > 1:
                yield from _walk(entry, depth - 1)
        elif entry.is_file():
            yield entry


def natural(text: str) -> list[tuple[int, int, str]]:
    """A key that sorts node2 before node10."""
    pieces = re.split(r"(\d{1,18})", text)
    return [(0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces if piece]


def node_in(name: str) -> str:
    """The node that a file's or folder's name speaks of: its words before (else behind) those that name a tool.

    node01_show_gids.txt is node01's, nccl.node01.4711.log too, spark-3995.log and node_1.log are of nodes with a number
    in their name, input.log and rank0.log are nobody's.
    """
    stem = _stem(name)
    if address := _ADDRESS.search(stem):
        return address[0]
    words = [word for word in _TOKEN.split(stem) if word]
    plain = [_names_nobody(words, at) for at in range(len(words))]
    if all(plain):
        return ""
    first = plain.index(False)
    last = next((at for at in range(first, len(words)) if plain[at]), len(words))
    start = stem.find(words[first])
    end = stem.find(words[last - 1], start) + len(words[last - 1])
    if last < len(words) and words[last - 1].isalpha() and (number := re.match(r"[-_]\d{1,6}(?![^-_. ])", stem[end:])):
        end += number.end()
    return stem[start:end][:64]


def _names_nobody(words: list[str], at: int) -> bool:
    word, numbered = words[at].lower(), at + 1 < len(words) and words[at + 1].isdecimal()
    if word in _ROLES and numbered:
        return False
    if word in _IP_OBJECTS and at and words[at - 1].lower() == "ip":
        return True
    return word in generic_words() or bool(_NUMBER.fullmatch(words[at]))
