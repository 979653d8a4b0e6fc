"""Quoting for the readers that several writers share: POSIX shells and YAML."""

from __future__ import annotations

import json


def shell(word: str) -> str:
    """Always in single quotes: zsh expands an unquoted `=word`, which shlex.quote takes for harmless."""
    return "'" + word.replace("'", "'\"'\"'") + "'"


def yaml(text: str) -> str:
    """A double-quoted YAML scalar: a JSON string of ASCII text is one (YAML 1.2, 7.3.1), and is never a number."""
    return json.dumps(text)
