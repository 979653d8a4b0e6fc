"""One fact of the fingerprint beside what was seen now, and how two facts are compared.

A fact that was unknown then and is unknown now for the same reason holds; any other unknown is unknown.
Nothing here knows which facts there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.gate import GateCheck

T = TypeVar("T")
Outcome = Literal["ok", "differs", "unknown", "failed"]


@dataclass(frozen=True)
class Compared:
    """A comparison: `id` names the fact, `port` the netdev it belongs to ("" for a fact of the node).

    `expected` and `seen` are text for people; `note` says why an outcome is what it is where that isn't plain;
    `lost` holds the expected members of a list that are no longer there.
    """

    id: str
    node: str
    port: str
    expected: str
    seen: str
    outcome: Outcome
    note: str = ""
    lost: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """ "node/netdev" for a fact of a port, else the node's name."""
        return f"{self.node}/{self.port}" if self.port else self.node

    def check(self) -> GateCheck:
        """As the gate document holds it."""
        return GateCheck(
            id=self.id,
            node=self.node,
            port=self.port,
            expected=self.expected,
            found=self.seen,
            outcome=self.outcome,
            note=self.note,
        )


def compare(
    id: str,
    node: str,
    port: str,
    expected: Fact[T],
    seen: Fact[T],
    *,
    same: Callable[[T, T], bool] = lambda a, b: a == b,
    show: Callable[[T], str] = str,
) -> Compared:
    """Compare two facts; `same` decides for two values, `show` makes a value text (with its unit)."""
    texts = (fact_text(expected, show), fact_text(seen, show))
    if isinstance(expected, Unknown):
        if isinstance(seen, Unknown) and seen.unknown == expected.unknown:
            return Compared(id, node, port, *texts, "ok", "unknown then and now")
        return Compared(id, node, port, *texts, "unknown", "was not known when measured")
    if isinstance(seen, Unknown):
        return Compared(id, node, port, *texts, "unknown", "can't be read now")
    return Compared(id, node, port, *texts, "ok" if same(expected, seen) else "differs")


def fact_text(fact: Fact[T], show: Callable[[T], str] = str) -> str:
    """A fact as one text: its value, or `unknown: reason`."""
    return f"unknown: {fact.unknown}" if isinstance(fact, Unknown) else show(fact)
