"""A text cut into the outputs of the tools that wrote it, each read by its format; what nobody wrote is named.

A command in the text, the file's name, or lines that only one tool writes say which tool it is. Outputs may follow one
another in any order, mixed with other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabricdoc.dumps.formats import FORMATS, Format, Line
from fabricdoc.dumps.json_shapes import Found, JsonText
from fabricdoc.dumps.lines import lines_of
from fabricdoc.dumps.naming import file_name
from fabricdoc.dumps.prompts import TAIL_MARK, Command, find_command
from fabricdoc.dumps.told import Part, Reading

SHOWN = 120
LOOKED_AT = 300
"""Characters of a line that decide whose it is."""
ANCHORS = re.compile("|".join(f"(?P<_{index}>{one.begins})" for index, one in enumerate(FORMATS)))
NO_TOOL = "no known tool writes such lines"


def read_text(name: str, text: str) -> Reading:
    """The parts of a text and their facts; `name` is its file's (only its last part says something).

    Never raises for any text. A part without a tool holds the lines that nothing is known of.
    """
    splitter = _Splitter(name)
    lines = lines_of(text)
    json_text = JsonText(lines)
    skip = 0
    for index, line in enumerate(lines):
        if index < skip:
            continue
        found = json_text.read(index) if line.text.lstrip()[:1] in ("[", "{") else None
        if found is None:
            splitter.take(line)
        else:
            splitter.take_json(found, line, lines[found.end - 1])
            skip = found.end
    splitter.end()
    return Reading(name, tuple(splitter.parts))


@dataclass
class _Splitter:
    """Where the text is: under which command, in whose output."""

    name: str
    parts: list[Part] = field(default_factory=list)
    command: Command = field(init=False)
    current: Format | None = None
    block: list[Line] = field(default_factory=list)
    host: str = ""

    def __post_init__(self) -> None:
        named = file_name(self.name)
        self.command = Command("", named.format, named.argument)

    def take(self, line: Line) -> None:
        """Put a line where it belongs: blank lines and commands belong nowhere."""
        if not line.text.strip():
            return
        if self._is_command(line.text):
            return
        found = self._format_of(line.text[:LOOKED_AT])
        if self.block and found is not self.current:
            self.end()
        self.current = found
        self.block.append(line)

    def _is_command(self, text: str) -> bool:
        if mark := TAIL_MARK.match(text):
            named = file_name(mark["file"])
            self._begin(Command("", named.format, named.argument, named.node or self.host))
            return True
        found = find_command(text)
        if found is not None:
            self._begin(found)
        return found is not None

    def _begin(self, command: Command) -> None:
        self.end()
        self.command, self.host = command, command.host or self.host

    def _format_of(self, text: str) -> Format | None:
        """The format of a line: by what only one tool writes, by the output it stands in, by the command above it."""
        hinted = self.command.format
        if hinted is not None and re.match(hinted.begins, text):
            return hinted
        match = ANCHORS.match(text)
        if match and match.lastgroup:
            return FORMATS[int(match.lastgroup[1:])]
        for one in (self.current, hinted):
            if one is not None and one.follows(text):
                return one
        return None

    def take_json(self, found: Found, first: Line, last: Line) -> None:
        """Take a JSON value as a part of its own."""
        self.end()
        excerpt = first.text.strip()[:SHOWN]
        argument = self.command.argument
        self.parts.append(
            Part(found.tool, first.number, last.number, found.told, argument, self.host, found.why, excerpt)
        )

    def end(self) -> None:
        """Close the output that was open: read it, or name it."""
        if not self.block:
            return
        first, last, excerpt = self.block[0].number, self.block[-1].number, self.block[0].text.strip()[:SHOWN]
        one = self.current
        if one is not None:
            argument = self.command.argument if one is self.command.format else ""
            lines = [Line(line.number, line.text[: one.longest]) for line in self.block]
            told = tuple(one.read(lines, argument))
            self.parts.append(Part(one.tool, first, last, told, argument, self.host, "", excerpt))
        else:
            why = f"output of `{self.command.words[:60]}`" if self.command.words else NO_TOOL
            self.parts.append(Part("", first, last, (), "", self.host, why, excerpt))
        self.block, self.current = [], None


def hosts_of(reading: Reading) -> Iterator[str]:
    """The hosts that prompts name, each once."""
    yield from dict.fromkeys(part.host for part in reading.parts if part.host)
