"""What errnos and completion statuses mean in an RDMA ping, and the ping's limits: presets/signatures/rdma_ping.toml.

Read when the first ping is planned. No judgement here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fabricdoc.files import own_folder


class Word(NamedTuple):
    """A number's name and what it means; `fix` are templates as `cause` is."""

    name: str
    cause: str
    fix: tuple[str, ...] = ()


def ping_limit(name: str) -> float:
    """One of the ping's limits; KeyError for one that is not there."""
    return float(_table()["limits"][name])


def errno_word(number: int) -> Word:
    """An errno of a verb; of one that is not in the list the bare number."""
    return _words("errno").get(number) or Word(f"errno {number}", "The kernel refused it for {hca} on {node}.")


def status_word(number: int) -> Word:
    """A completion's status; of one that is not in the list the bare number."""
    return _words("status").get(number) or Word(f"status {number}", "it failed")


@cache
def _table() -> Mapping[str, Any]:
    import tomllib

    path = own_folder("presets").joinpath("signatures", "rdma_ping.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def _words(kind: str) -> dict[int, Word]:
    return {one["number"]: Word(one["name"], one["cause"], tuple(one.get("fix", ()))) for one in _table()[kind]}
