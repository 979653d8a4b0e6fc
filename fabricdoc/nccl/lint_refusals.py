"""Files that their reader refuses as a whole: an encoding it does not take, YAML that is none.

Then nothing in the file counts, however right its lines are. Of YAML what goes wrong by hand is seen: tabs, levels that
fit none, pairs below a value, brackets and quotes that never close; templates, and keys written with `?`, are left
alone. One refusal a file is told, the first: what follows comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_documents import BLOCK, block_end
from fabricdoc.nccl.lint_settings import Format, Remark

ID = "refused-by-its-reader"
READERS: dict[Format, str] = {
    "docker": "docker --env-file refuses the whole file",
    "yaml": "compose and Kubernetes refuse the whole file",
    "shell": "a shell refuses it",
    "command": "a shell refuses it",
    "nccl.conf": "NCCL reads no name in it",
    "systemd": "systemd ignores the lines",
    "json": "JSON's readers refuse it",
}
_KEY = re.compile(r"(?:- +)*(?:\"[^\"]*\"|'[^']*'|[^\s#\[\]{}\"'&*!|>%@`,-][^#]*?|-[^\s#][^#]*?)\s*:(?=\s|$)")
_VALUE_OPENS = ("&", "!", "|", ">")
MOST_DEEP = 256


def refused(file: str, form: Format, text: str, encoding: str = "utf-8") -> tuple[Remark, ...]:
    """Why the reader of that format refuses a file, () where it does not.

    `encoding` is what the file was decoded from: `utf-16`, or `utf-8?` where bytes of it were no UTF-8.
    """
    if told := _encoding(form, text, encoding):
        line, message, fix = told
    elif form == "yaml" and (found := next(_broken(text.split("\n")), None)):
        line, message = found
        message, fix = f"{message}: {READERS[form]}", "mend this line"
    else:
        return ()
    shown = text.split("\n")[line - 1].removesuffix("\r")
    start = len(shown) - len(shown.lstrip())
    width = max(0, len(shown.rstrip()) - start)
    return (Remark(Complaint(ID, file, message, fix), file, line, start + 1, width, shown),)


def _encoding(form: Format, text: str, encoding: str) -> tuple[int, str, str] | None:
    """(line, message, fix) of bytes that the reader does not take."""
    fix = "save the file as UTF-8 without a byte order mark"
    if encoding == "utf-16" and form != "yaml":
        return 1, f"the file is UTF-16: {READERS[form]}", fix
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return line, f"the file holds zero bytes, as UTF-16 and binary files do: {READERS[form]}", fix
    if encoding == "utf-8?" and form in ("docker", "yaml", "json"):
        at = text.find("\ufffd")
        return text.count("\n", 0, max(at, 0)) + 1, f"this line is not UTF-8: {READERS[form]}", fix
    return None


@dataclass
class _Nest:
    """What is open while YAML is read: levels of block collections, brackets with their lines, and a quote."""

    levels: list[int] = field(default_factory=list)
    brackets: list[int] = field(default_factory=list)
    quote: str = ""
    quoted_at: int = 0
    has_value: bool = False

    @property
    def flows(self) -> bool:
        """Whether a bracket or quote of an earlier line is open, so that indentation means nothing."""
        return bool(self.brackets or self.quote)


def _broken(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, what is wrong) of each thing that makes YAML no YAML."""
    nest, skip = _Nest(), 0
    is_made = any("{{" in line or "{%" in line or line.lstrip(" ").startswith("? ") for line in lines)
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r")
        if number <= skip:
            continue
        bare = text.strip()
        if not nest.flows and (not bare or bare.startswith(("#", "{{", "{%"))):
            continue
        if not nest.flows and bare in ("---", "..."):
            nest.levels.clear()
            nest.has_value = False
        elif not nest.flows:
            if "\t" in text[: len(text) - len(text.lstrip())]:
                yield number, "YAML allows no tab in front of a line"
            if not is_made and (wrong := _level(text, nest)):
                yield number, wrong
        if not nest.flows and (block := BLOCK.match(text)):
            skip = block_end(lines, number, len(block[1]))
            continue
        if not is_made:
            _follow(text, number, nest)
    if nest.quote:
        yield nest.quoted_at, "a quote opens here and never closes"
    elif nest.brackets:
        yield nest.brackets[-1], "a bracket opens here and never closes"


def _level(text: str, nest: _Nest) -> str:
    """What is wrong with how far a key or an item is indented, "" where nothing is."""
    indent = len(text) - len(text.lstrip(" "))
    bare = text[indent:]
    key = _KEY.match(bare)
    is_item = bare.startswith("- ") or bare == "-"
    if key is None and not is_item:
        return ""
    closed = False
    while nest.levels and nest.levels[-1] > indent:
        nest.levels.pop()
        closed = True
    top = nest.levels[-1] if nest.levels else -1
    wrong = ""
    if closed and top < indent:
        wrong = "no line above is indented as far as this one"
    elif top < indent and nest.has_value and not is_item:
        wrong = "a pair is indented below a value"
    if top < indent:
        nest.levels.append(indent)
    inner = indent
    while bare.startswith("- ") and len(nest.levels) < MOST_DEEP:
        after = bare[2:].lstrip(" ")
        inner += len(bare) - len(after)
        bare = after
        if after and (_KEY.match(after) or after.startswith("- ")):
            nest.levels.append(inner)
    rest = bare[key.end() - (inner - indent) :].strip() if key and key.end() > inner - indent else ""
    nest.has_value = bool(key) and bool(rest) and not rest.startswith(("#", *_VALUE_OPENS))
    return wrong


def _follow(text: str, number: int, nest: _Nest) -> None:
    """Follow brackets and quotes through a line. Within plain text they are letters."""
    begins, at = True, 0
    while at < len(text):
        letter = text[at]
        if nest.quote:
            at = _in_quotes(text, at, nest)
            begins = False
            continue
        if letter == "#" and (not at or text[at - 1] in " \t"):
            return
        if begins and letter in "\"'":
            nest.quote, nest.quoted_at = letter, number
        elif letter in "[{" and (begins or nest.brackets):
            nest.brackets.append(number)
        elif letter in "]}" and nest.brackets:
            nest.brackets.pop()
        begins = _begins(text, at, begins=begins, flows=bool(nest.brackets))
        at += 1


def _in_quotes(text: str, at: int, nest: _Nest) -> int:
    """The place behind a letter, an escape or the end of a quoted text."""
    if nest.quote == '"' and text[at] == "\\":
        return at + 2
    if text[at] == nest.quote:
        if nest.quote == "'" and text[at + 1 : at + 2] == "'":
            return at + 2
        nest.quote = ""
    return at + 1


def _begins(text: str, at: int, *, begins: bool, flows: bool) -> bool:
    """Whether a value may begin behind this letter."""
    letter, after = text[at], text[at + 1 : at + 2]
    if letter in " \t":
        return begins
    if flows and letter in "[{,":
        return True
    return (letter == ":" and (after in ("", " ", "\t") or flows)) or (begins and letter in "-?" and after in ("", " "))
