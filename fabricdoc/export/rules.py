"""What the text formats have in common: when a name or a value can't be carried, said as a reason; no format is here.

Every writer starts from one of these and adds its reader's own rules. Nothing is quoted or written.
"""

from __future__ import annotations

import re

LONGEST = 32 * 1024
"""Bytes of `NAME=value` at most: docker ends a line at 64 KiB (bufio.MaxScanTokenSize), the kernel a string at 128."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
PLAIN = re.compile(r"[A-Za-z0-9_.,:=+/@%-]*\Z")
"""Values that every shell but zsh, every env file and every list of words takes as they are."""

SHELL_OWN = frozenset(
    re.findall(
        r"\w+",
        "_ ENV EUID FUNCNAME GROUPS HISTCMD IFS PATH PPID PWD"
        " OLDPWD OPTARG OPTIND OPTERR PS4 RANDOM SECONDS SHELLOPTS SHLVL UID USERNAME GID EGID LINENO STATUS PIPESTATUS"
        " HOME DIRSTACK"
        " COMP_WORDBREAKS EPOCHREALTIME EPOCHSECONDS SRANDOM ARGC COLUMNS LINES"
        " ERRNO CDPATH FPATH MANPATH MODULE_PATH MAILPATH WATCH HISTCHARS PROMPT PROMPT2 PROMPT3 PROMPT4 NULLCMD LANG"
        " POSIXLY_CORRECT CHILD_MAX EXECIGNORE GLOBIGNORE HISTFILE HISTSIZE HISTFILESIZE"
        " SAVEHIST KEYTIMEOUT TMOUT FIGNORE TERM TERMINFO TERMINFO_DIRS TTYIDLE CMD_DURATION TMPPREFIX"
        " PSVAR ZLS_COLORS HOST LOGNAME",
    )
)
"""Names a shell computes, guards or acts upon: bash(1), zshparam(1), fish language. Lower-case ones are many more."""


def has_name(name: str) -> bool:
    """Whether it is what POSIX and every reader take as a variable's name."""
    return len(name) <= 256 and _NAME.match(name) is not None


def not_a_value(_name: str, value: str) -> str:
    """What no environment can hold."""
    return "holds a NUL character, which no environment can" if "\0" in value else ""


def not_one_line(name: str, value: str) -> str:
    """What a text format of one line per variable can't hold, whatever the quoting."""
    if reason := not_a_value(name, value):
        return reason
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for letter in value):
        return "holds a line break or another control character"
    if not value.isascii():
        return "is not ASCII, so a reader in another locale would see other bytes"
    if len(name) + 1 + len(value) > LONGEST:
        return f"is longer than {LONGEST} bytes, which not every reader takes"
    return ""


def not_for_shells(name: str, value: str) -> str:
    """As `not_one_line`, and names that belong to the shell itself."""
    if name in SHELL_OWN or name.islower() or name.startswith(("BASH", "KSH_", "ZSH_", "FISH_")):
        return "would go to a variable of the shell's own"
    return not_one_line(name, value)


def not_plain(name: str, value: str) -> str:
    """As `not_for_shells`, and every letter that some reader gives a meaning."""
    reason = not_for_shells(name, value)
    if reason or PLAIN.match(value):
        return reason
    letter = next(letter for letter in value if not PLAIN.match(letter))
    return f"holds {_told(letter)}"


def _told(letter: str) -> str:
    told = {
        ";": "`;`, at which a shell that sources the file ends the value",
        "^": "`^`, which some shells take for a pipe or a pattern",
        " ": "a blank, at which a shell that sources the file ends the value",
        "#": "`#`, at which some readers begin a comment",
    }
    return told.get(letter, f"`{letter}`, which shells, docker, compose and systemd read differently")
