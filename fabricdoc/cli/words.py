"""The words of a command line held against the command they are for, before it runs: which command that is, and an
option whose value is missing.

An empty `$N` in `--nodes $N --python X` leaves `--nodes --python X`: the parser takes `--python` for the nodes, and
complains of X. What a word means is the command's matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fabricdoc.errors import UsageError

LONG = re.compile(r"--(?:[A-Za-z][\w-]*(?:=.*)?)?", re.DOTALL)
"""A long option, or the `--` that ends options: never a value."""


def command_of(program: Any, words: Sequence[str]) -> tuple[str, Any, tuple[str, ...]]:
    """The command that the words name, as it is called (`fabricdoc runs show`), and the words behind its name.

    The program itself where its first word is no command.
    """
    path, command, rest = "fabricdoc", program, tuple(words)
    while rest and (below := getattr(command, "commands", {}).get(rest[0])) is not None:
        path, command, rest = f"{path} {rest[0]}", below, rest[1:]
    return path, command, rest


def refuse_valueless(path: str, command: Any, words: Sequence[str]) -> None:
    """UsageError for an option that takes a value and has another option behind it. `--option=--x` passes.

    A command class may name options in `bare` that need no value.
    """
    valued = _valued(command) - frozenset(getattr(command, "bare", ()))
    is_followed = not (command.context_settings or {}).get("allow_interspersed_args", True)
    is_value = False
    for place, word in enumerate(words):
        if is_value:
            is_value = False
        elif word == "--" or (is_followed and not word.startswith("-")):
            return  # what follows is another's command
        elif word in valued:
            following = words[place + 1] if place + 1 < len(words) else ""
            if LONG.fullmatch(following):
                raise UsageError(
                    f"{word} got no value: the word behind it is {following[:40]}",
                    fix=f"write its value behind it (an empty $VARIABLE leaves none): {path} --help",
                    id="usage",
                )
            is_value = True


def _valued(command: Any) -> frozenset[str]:
    """The options of a command that take a value."""
    options = (one for one in command.params if one.param_type_name == "option")
    valued = (one for one in options if not one.is_flag and not one.count)
    return frozenset(word for one in valued for word in one.opts)
