"""KEY=value lines of a settings file (env file, shell file, nccl.conf, systemd unit) read into variables; runs nothing.

Consumers disagree about quotes: docker's --env-file keeps them, compose, systemd and shells take them off. They are
taken off here, and `quoted` names those variables, so that the reader can be told. A later line wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from fabricdoc.bench.candidate_values import AT_LOAD, AT_START

PREFIXES = ("NCCL_", "GLOO_", "UCX_", "TP_SOCKET_IFNAME", "TORCH_NCCL_")
"""What is a communication variable, besides those read at load and at start."""
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.ASCII)
_QUOTED = re.compile(r"""(["'])(.*)\1""")


class Settings(NamedTuple):
    """The communication variables of a text, and which of them stood in quotes."""

    values: dict[str, str]
    quoted: tuple[str, ...] = ()


def is_communication(name: str) -> bool:
    """Whether a variable may be taken over: NCCL's and its neighbours', never one that could hold a secret."""
    return name.startswith(PREFIXES) or name in (*AT_LOAD, *AT_START)


def read_settings(text: str) -> Settings:
    """The variables of KEY=value lines; `export`, comment lines and what else stands there are passed over."""
    return settings_of((match[1], match[2]) for line in text.splitlines() if (match := _LINE.match(line)))


def settings_of(pairs: Iterable[tuple[str, str]]) -> Settings:
    """The communication variables among these, without quotes around their values."""
    values: dict[str, str] = {}
    quoted: dict[str, None] = {}
    for name, raw in pairs:
        if not is_communication(name):
            continue
        bare = _QUOTED.fullmatch(raw.strip())
        quoted.pop(name, None)
        if bare:
            quoted[name] = None
        values[name] = bare[2] if bare else raw.rstrip("\r")
    return Settings(values, tuple(quoted))
