"""What a format is: how its commands, its files and its lines look, and how its lines become facts.

Patterns decide only where an output begins and which lines may follow; a reader takes the lines it knows and leaves
the rest alone, so cut or damaged text gives fewer facts and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fabricdoc.dumps.told import Told


class Line(NamedTuple):
    """A line of a text: its number (from 1) and its words, without line end or colours."""

    number: int
    text: str


Reader = Callable[[Sequence[Line], str], Iterable[Told]]


@dataclass(frozen=True)
class Format:
    """Output of one tool.

    `command` matches a command line that writes it (group `arg`: what it was asked about), `file` the word in a file's
    name. `begins` matches a line that only this tool writes (without groups), `goes_on` the lines that may follow;
    `read` turns the lines of one output and its argument into facts; it gets the first `longest` characters of each, so
    that no pattern meets a line without end.
    """

    tool: str
    command: str
    file: str
    begins: str
    goes_on: str
    read: Reader
    longest: int = 1000

    def follows(self, line: str) -> bool:
        """Whether a line may be one of this output."""
        return re.match(self.goes_on, line) is not None or re.match(self.begins, line) is not None


MTU_WORD = re.compile(r"(\d+)\b")
GUID = re.compile(r"(?:0x)?([0-9a-fA-F]{4}):?([0-9a-fA-F]{4}):?([0-9a-fA-F]{4}):?([0-9a-fA-F]{4})$")
MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")
PCI = re.compile(r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$")
NAME = r"[A-Za-z0-9_.@:+-]{1,64}"
PHYS_STATES = {
    "LINK_UP": "LinkUp",
    "DISABLED": "Disabled",
    "POLLING": "Polling",
    "SLEEP": "Sleep",
    "TRAINING": "PortConfigurationTraining",
    "LINK_ERROR_RECOVER": "LinkErrorRecovery",
    "PHY_TEST": "Phy Test",
}
"""What tools call physical states -> what sysfs calls them (drivers/infiniband/core/sysfs.c)."""


def guid(text: str) -> str | None:
    """A GUID as sysfs writes it ("aaaa:bbbb:cccc:0010"), from that or from 0xaaaabbbbcccc0010; else None."""
    match = GUID.match(text.strip())
    return ":".join(part.lower() for part in match.groups()) if match else None


def mac(text: str) -> str | None:
    """A MAC in lower case, None for another text."""
    return text.lower() if MAC.match(text) else None


def pci(text: str) -> str | None:
    """A PCI address as the kernel writes it ("0000:01:00.0"): with its domain, NVML's eight digits cut to four."""
    match = PCI.match(text.strip())
    if not match:
        return None
    domain = (match[1] or "0000").lower()
    domain = domain[4:] if len(domain) == 8 and domain.startswith("0000") else domain
    return f"{domain}:{match[2]}:{match[3]}.{match[4]}".lower()


def phys_state(text: str) -> str:
    """A physical state in sysfs' words."""
    return PHYS_STATES.get(text, text)


def whole(text: str) -> int | None:
    """The number a text begins with, if it is one of at most 18 digits."""
    match = re.match(r"\s*(-?\d{1,18})\b", text)
    return int(match[1]) if match else None


def known(path: tuple[str | int, ...], value: Any, line: int, *, weak: bool = False) -> list[Told]:
    """The fact, or nothing where its value is None or empty."""
    return [] if value is None or value == "" else [Told(path, value, line, weak)]
