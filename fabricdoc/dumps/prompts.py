"""Commands in a text: shell prompts, headings and file marks that say which tool wrote what follows, and where.

    $ ibv_devinfo            root@spark1:~# ip addr          [me@spark1 ~]$ rdma link       spark1$ show_gids
    + ethtool -S eth0        === spark1: ibv_devinfo ===     ==> spark1/show_gids.txt <==

Where no mark or no known tool is there, nothing is assumed. Output lines are not looked at here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fabricdoc.dumps.formats import FORMATS, Format

HOST = r"(?P<host>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*)"
USER_PROMPT = re.compile(rf"(?:\([\w.-]+\)\s*)?[\w.-]+@{HOST}(?::[^$#%>]*)?\s?[$#%]\s*(?P<command>.*)$")
BRACKET_PROMPT = re.compile(rf"\[[\w.-]+@{HOST}[^\]]*\]\s?[$#%]\s*(?P<command>.*)$")
HOST_PROMPT = re.compile(rf"{HOST}(?::[~/][^$#%>]*)?\s?[$#%>]\s+(?P<command>\S.*)$")
DOLLAR = re.compile(r"\$\s+(?P<command>(?:[A-Z_][A-Z0-9_]*=\S*\s+)*[A-Za-z./][^\s=]*(?:\s.*)?)$")
MARK = re.compile(r"(?:[#+>%]{1,2})\s*(?P<command>[A-Za-z./]\S*(?:\s.*)?)$")
HEADING = re.compile(rf"[=#*<>+_-]{{2,}}\s*(?:{HOST}:\s+)?(?P<command>[A-Za-z./].*?)\s*[=#*<>+_-]*$")
TAIL_MARK = re.compile(r"==> (?P<file>\S.{0,200}) <==$")
LEADERS = re.compile(
    r"(?:sudo(?:\s+-[A-Za-z]+)*|time|env|timeout\s+\S+|[A-Z_][A-Z0-9_]*=\S*|watch(?:\s+-\S+)*(?:\s+\d+)?"
    r"|docker\s+exec(?:\s+-\S+)*\s+\S+|ssh(?:\s+-\S+)*\s+(?:[\w.-]+@)?(?P<host>[A-Za-z0-9][\w.-]*))\s+"
)
COMMANDS = [(re.compile(one.command), one) for one in FORMATS]
BARE = re.compile(r"[`'\"]?(?P<command>[a-z][\w-]*(?:\s+[\w./:*-]+){0,5})[`'\"]?\s*:?$")
TOO_COMMON = re.compile(r"(?:hostname|ip|sysctl|uname|ulimit|grep|cat|ls)\b")
MAX_PROMPT = 300


class Command(NamedTuple):
    """A command line: its words, its output's format (None for another tool), what it was asked about, the host."""

    words: str
    format: Format | None
    argument: str = ""
    host: str = ""


def find_command(line: str) -> Command | None:
    """The command that a line gives, or None for a line of output. An empty command is a bare prompt."""
    if len(line) > MAX_PROMPT:
        return None
    for pattern in (USER_PROMPT, BRACKET_PROMPT):
        if match := pattern.match(line):
            return known_command(match["command"])._replace(host=match["host"])
    for pattern in (HOST_PROMPT, MARK, HEADING, BARE):
        match = pattern.match(line)
        if match and (found := known_command(match["command"])).format:
            if pattern is BARE and TOO_COMMON.match(found.words):
                continue
            host = match.groupdict().get("host") or ""
            return found._replace(host=found.host or host)
    match = DOLLAR.match(line)
    return known_command(match["command"]) if match else None


def known_command(text: str) -> Command:
    """A command line by its tool; what comes after a pipe only narrows the output."""
    words, host = text.strip(), ""
    while leader := LEADERS.match(words):
        host = leader.groupdict().get("host") or host
        words = words[leader.end() :].strip("'\"")
    plain = re.sub(r"^\S*/", "", words)
    for pattern, one in COMMANDS:
        if match := pattern.match(plain):
            return Command(words, one, match.groupdict().get("arg") or "", host)
    return Command(words, None, "", host)
