"""Text as a shell would read it, as far as launch lines and .env files need: words, assignments, $NAME.

Runs nothing: command substitutions stay text, and a variable nobody set stays as it is written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

ASSIGNED = re.compile(r"\s*(?:export\s+|set\s+-x\s+)?([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.ASCII)
USED = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([^{}]*))?\})", re.ASCII)
DEEPEST = 8
MAX_VALUE = 16 << 10
"""Characters that a value may grow to by its variables: a file that doubles itself stays small."""


def words_of(text: str) -> list[str]:
    """The words of a command, continued lines joined, comments left out; split at blanks where quotes do not close."""
    joined = re.sub(r"\\\r?\n", " ", text)
    try:
        return shlex.split(joined, comments=True)
    except ValueError:
        return joined.split()


def assignments(text: str) -> dict[str, str]:
    """NAME=value lines as bash sources them: quotes removed, comments cut, earlier names filled in; the last wins."""
    found: dict[str, str] = {}
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        match = ASSIGNED.fullmatch(line)
        if match:
            words = _value_words(match[2])
            found[match[1]] = filled(words[0] if words else "", found)
    return found


def given(words: Sequence[str]) -> dict[str, str]:
    """NAME=value words of a command: `A=1 vllm serve ...`, `docker run -e A=1 ...`, `mpirun -x A=1 ...`."""
    found = (ASSIGNED.fullmatch(word.removeprefix("--env=").removeprefix("-e")) for word in words)
    return {match[1]: match[2] for match in found if match and not match[2].startswith("=")}


def filled(text: str, values: Mapping[str, str]) -> str:
    """`text` with $NAME, ${NAME} and ${NAME:-default} replaced where the name or a default is known."""
    for _ in range(DEEPEST):
        changed = USED.sub(lambda match: _used(match, values), text)[:MAX_VALUE]
        if changed == text:
            break
        text = changed
    return text


def _used(match: re.Match[str], values: Mapping[str, str]) -> str:
    name, default = match[1] or match[2], match[3]
    value = values.get(name)
    if value:
        return value
    return match[0] if default is None and value is None else default or ""


def _value_words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return [text.strip()]
