"""The probes of several nodes, asked together: one that fails is left out, and the others' answers stand.

Carries messages and deadlines; what is asked and what an answer means is for those who ask (`beacons`, `reaching`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fabricdoc.errors import NodeError
from fabricdoc.fabric.hurry import at_most

if TYPE_CHECKING:
    from fabricdoc.fabric.sharing import Conversation

Message = dict[str, Any]
SEE_WHY = "run `fabricdoc scan` to see why"


class Crew:
    """Probes that run, by node name, called `what`. `failed` says why others don't any more; it only grows."""

    def __init__(self, channels: Conversation, failed: dict[str, NodeError], what: str) -> None:
        self._channels = channels
        self.failed = failed
        self._what = what

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes that still take part."""
        return tuple(name for name in self._channels.names if name not in self.failed)

    def tell(self, messages: Mapping[str, Message]) -> None:
        """Send each node its message; those that take part no more are passed over."""
        for name in self.names:
            if name in messages:
                try:
                    self._channels.send(name, messages[name])
                except NodeError as error:
                    self.failed[name] = error

    def answers(self, event: str, names: Iterable[str], deadline_s: float) -> dict[str, Message]:
        """The next message of `event` from each of `names` that still takes part, within `deadline_s` seconds."""
        wanted = set(names) & set(self.names)
        found: dict[str, Message] = {}
        deadline_s = at_most(deadline_s)
        end = time.monotonic() + deadline_s
        while wanted - set(found) - set(self.failed):
            got = self._next(max(0.0, end - time.monotonic()))
            if got is None:
                self._give_up(wanted - set(found), deadline_s)
            elif got[1].get("event") == "closed":
                self.failed.setdefault(got[0], closed_node(got[1]))
            elif got[1].get("event") == event and got[0] in wanted:
                found[got[0]] = got[1]
        return found

    def _next(self, timeout_s: float) -> tuple[str, Message] | None:
        try:
            return self._channels.receive(timeout_s)
        except NodeError:  # all have ended, and each has said so
            return None

    def _give_up(self, silent: Iterable[str], deadline_s: float) -> None:
        for name in silent:
            self.failed.setdefault(name, silent_node(name, self._what, deadline_s))


def silent_node(name: str, what: str, deadline_s: float) -> NodeError:
    """The error of a node whose probe (`what`) runs and says nothing."""
    return NodeError(f"{name}: {what} did not answer in {deadline_s:.0f} s", fix=SEE_WHY, id="node-timeout")


def closed_node(said: Mapping[str, Any]) -> NodeError:
    """The error that the transport told as a probe's end."""
    return NodeError(str(said["message"]), fix=str(said.get("fix", "")), id=str(said.get("id", "probe-failed")))
