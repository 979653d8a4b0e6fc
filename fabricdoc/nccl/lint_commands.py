"""Shell scripts and launch lines: exported variables, prefixes of commands, -e and --env of docker, -x of mpirun.

Nothing is run or expanded: of `${NAME:-VALUE}` the VALUE is taken, any other value with `$` in it is left alone, since
only the shell knows it. A Dockerfile's ENV lines are read, too. What stands in quotes
behind `bash -c`, `ssh HOST` and the like is read as commands too, and JSON as what Ray is given for its workers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint_json import variables_in
from fabricdoc.nccl.lint_settings import Setting
from fabricdoc.nccl.lint_shell import Text, Word, words_between
from fabricdoc.nccl.lint_writing import Style
from fabricdoc.nccl.versions import Release

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SPACED = re.compile(
    r"[ \t]*(export[ \t]+|ENV[ \t]+)?((?:NCCL|TORCH_NCCL|GLOO|UCX)_[A-Z0-9_]+)[ \t]+=[ \t]*([^\s;&|=]+)", re.ASCII
)
DEEPEST = 3
"""Commands in quotes in commands in quotes: how deep they are read."""

_OPTIONS = frozenset({"-e", "--env", "-x", "--export", "--genv", "-genv", "-env", "--setenv", "--container-env"})
_PAIRS = frozenset({"-genv", "--genv", "-env"})
"""MPICH's: the name and the value may be two words."""
_LISTS = frozenset({"--export", "--env", "-x"})
"""Options whose value may be several assignments with commas between them (srun, Apptainer)."""
_EQUALS = ("--env=", "--export=", "-e=", "--setenv=", "-x=")
_DEFAULT = re.compile(r"\$\{\w{1,128}:?[-=]([^${}`]*)\}")
_NEXT = re.compile(r",(?=[A-Za-z_][A-Za-z0-9_]*=)", re.ASCII)
_OPENERS = frozenset(
    {"export", "env", "ENV", "set", "sudo", "declare", "typeset", "readonly", "local", "exec", "nohup", "time"}
    | {"command", "builtin", "then", "do", "else", "if", "elif", "while", "until", "!", "{", "-x", "--"}
)  # fmt: skip
"""Words behind which an assignment still is one."""
_WORDS = frozenset({"then", "do", "else", "if", "elif", "while", "until", "!", "{", "time"})
"""Those of them that a command follows, not names to set."""
_QUIET = frozenset({"echo", "printf", "grep", "egrep", "sed", "awk", "perl", "test", "[", "[[", "cut", "tr", "rg"})
"""Programs whose -e and words are text and no variables."""
_HOSTS = frozenset({"ssh", "pdsh", "clush", "rsh", "pssh"})
"""Programs whose second word is a host and the rest a command."""
_HOST_OPTIONS = frozenset({"-p", "-i", "-l", "-o", "-F", "-J", "-w", "-b", "-h"})


Assigned = tuple[str, str, Word]
"""Name, value and the word that sets it."""


@dataclass
class _Command:
    """How far a command has been read; `line` is where it begins, `held` what it sets so far."""

    name: str = ""
    leading: bool = True
    option: str = ""
    pending: str = ""
    skips: bool = False
    opener: str = ""
    line: int = 0
    held: list[Assigned] = field(default_factory=list)


@dataclass
class _Branch:
    """Which branch of an if or a case is being read: what stands in two of them is never set together.

    `scope` is the line at which the branch began, `base` the one outside; what an outer branch holds is not looked at
    again.
    """

    base: int = 0
    scope: int = 0

    def take(self, word: Word, *, leads: bool) -> None:
        """Follow a word that leads a command, or an operator."""
        begins = leads and word.text in ("case", "else", "elif")
        if begins or (word.text == ";;" and self.scope):
            self.scope = word.line
        elif leads and word.text in ("esac", "fi"):
            self.scope = self.base


def shell_lines(lines: list[str], _release: Release | None = None) -> Iterator[Setting]:
    """The assignments of a script and of the commands in it, line by line (continued lines are one).

    What is exported has the scope of its branch (0 outside of any), what one command alone gets that of its line.
    """
    text = Text.of(lines)
    for (name, value, word), scope in _assignments(text, 0, len(text.whole), 0, 0):
        yield _setting(name, value, word, lines, text, scope)
    for number, line in enumerate(lines, 1):
        if match := _SPACED.match(line):
            yield _spaced(match, number, line)


def _spaced(match: re.Match[str], number: int, line: str) -> Setting:
    """`NAME = VALUE`, of which a shell makes three words and sets nothing."""
    opener, name, value = (match[1] or "").strip(), match[2], match[3].strip("\"'\r")
    does = "a shell takes the = for a word of its own: nothing is set"
    does = "docker build takes the = for the beginning of the value" if opener == "ENV" else does
    style: Style = "ENV" if opener == "ENV" else "export" if opener == "export" else "shell"
    wrong = Complaint("space-around-equals", name, does, f"{name}={value}")
    return Setting(name, value, number, match.start(2) + 1, line.removesuffix("\r"), (wrong,), style=style)


def _setting(name: str, value: str, word: Word, lines: list[str], text: Text, scope: int) -> Setting:
    line = lines[word.line - 1].removesuffix("\r")
    found = line.find(name, word.column - 1)
    column = (found if found >= 0 else word.column - 1) + 1
    style = _style(line, found, word)
    if text.whole[word.stop : word.stop + 2] not in ("\r", "\r\n"):
        return Setting(name, value, word.line, column, line, scope=scope, style=style)
    message = "the line ends in CR, which a shell takes as part of the value"
    wrong = Complaint("carriage-return-kept", name, message, "save the file with Unix line ends")
    return Setting(name, value, word.line, column, line, (wrong,), scope, style)


def _style(line: str, at: int, word: Word) -> Style:
    """Whether the assignment stands alone behind `export` or a Dockerfile's ENV; JSON within a command is JSON."""
    if word.inner[1] and word.text.startswith("{"):
        return "json"
    opener = line[: max(at, 0)].strip().rstrip("\"'")
    return "export" if opener == "export" else "ENV" if opener == "ENV" else "shell"


def _assignments(text: Text, start: int, end: int, depth: int, base: int) -> Iterator[tuple[Assigned, int]]:
    """Every assignment in a part of the text, with its scope."""
    command, branch = _Command(), _Branch(base, base)
    for word in words_between(text, start, end):
        leads = command.leading and not command.opener
        if word.ends:
            yield from _flushed(command, branch)
            command = _Command()
        branch.take(word, leads=leads)
        command.line = command.line or (0 if word.ends else word.line)
        if word.ends:
            continue
        if word.text[:1] in "<>" and word.text and not word.inner[1]:
            command.skips = True  # the next word is a file's name
        elif command.skips:
            command.skips = False
        elif word.inner[1] and word.text.startswith("{"):
            command.option = ""
            command.held += [(name, value, word) for name, value in variables_in(word.text)]
        elif _is_command(word, command, depth):
            yield from _assignments(text, *word.inner, depth + 1, command.line)
        else:
            command.held += _set_by(word, command)
    yield from _flushed(command, branch)


def _flushed(command: _Command, branch: _Branch) -> Iterator[tuple[Assigned, int]]:
    """What a command sets, now that it has ended: for itself if it is a program's, else for what follows."""
    scope = command.line if command.name else branch.scope
    for assigned in command.held:
        yield assigned, scope


def _is_command(word: Word, command: _Command, depth: int) -> bool:
    """Whether a word in quotes is read as a command line of its own."""
    if not word.inner[1] or "=" not in word.text or depth >= DEEPEST:
        return False
    named = command.leading and command.name not in _HOSTS and _assigns(word.text)
    is_value = command.option or command.pending or named
    return not is_value and command.name not in _QUIET and any(letter.isspace() for letter in word.text)


def _set_by(word: Word, command: _Command) -> Iterator[Assigned]:
    """What one word sets: before the command, behind export or env, behind an option that takes one."""
    option, command.option = command.option, ""
    if command.pending:
        name, command.pending = command.pending, ""
        yield from _value(name, word)
    elif option:
        if option in _PAIRS and NAME.fullmatch(word.text):
            command.pending = word.text
        parts = _NEXT.split(word.text) if option in _LISTS and command.name not in ("docker", "podman") else [word.text]
        for part in parts:
            yield from _assigned(part, word)
    elif command.leading:
        yield from _leading(word, command)
    else:
        yield from _behind(word, command)


def _leading(word: Word, command: _Command) -> Iterator[Assigned]:
    """Words before the command's name, and behind export and env."""
    text = word.text
    if _assigns(text):
        yield from _assigned(text, word)
    elif text in _OPENERS or text.startswith("-"):
        is_fish = command.opener == "set" and text.startswith("-") and "x" in text
        command.opener = "set -x" if is_fish else text if text not in _WORDS else ""
    elif command.opener in ("set -x", "ENV") and NAME.fullmatch(text):
        command.pending = text
    else:
        command.name = text.rpartition("/")[2]
        command.leading = False


def _behind(word: Word, command: _Command) -> Iterator[Assigned]:
    """Words behind the command's name: options that set variables, `env` in the middle, a host's command."""
    text = word.text
    if command.name in _QUIET:
        return
    if text in _OPTIONS:
        command.option = text
    elif equals := next((one for one in _EQUALS if text.startswith(one)), ""):
        for part in _NEXT.split(text[len(equals) :]):
            yield from _assigned(part, word)
    elif text.startswith("-e") and _assigns(text[2:]):
        yield from _assigned(text[2:], word)
    elif text in ("env", "--"):
        command.leading = True
    elif command.name in _HOSTS:
        command.option = ""
        if text in _HOST_OPTIONS:
            command.skips = True  # the next word is the option's
        elif not text.startswith("-"):
            command.leading = True


def _assigns(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and NAME.fullmatch(name) is not None


def _assigned(text: str, word: Word) -> Iterator[Assigned]:
    name, equals, value = text.partition("=")
    value = defaulted(value)
    if equals and NAME.fullmatch(name) and "$" not in value and "`" not in value:
        yield name, value, word


def defaulted(value: str) -> str:
    """`${NAME:-VALUE}` as VALUE, which it is unless somebody sets NAME; any other value as it is."""
    match = _DEFAULT.fullmatch(value)
    return match[1] if match else value


def _value(name: str, word: Word) -> Iterator[Assigned]:
    if not word.expands:
        yield name, word.text, word
