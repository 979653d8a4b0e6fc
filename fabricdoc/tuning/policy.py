"""What a preset says beside what was measured: the reason of a placed line, what stays unset, its time.

The sentences are data (presets/policy.toml); whether a value is safe for a release is `nccl`'s to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from fabricdoc.files import shipped
from fabricdoc.model.policy import Policy
from fabricdoc.model.run import NodeContext, Run


def reason_of(name: str, value: str) -> str:
    """Why such a line is placed, as a clause; empty where nothing is known."""
    for one in shipped(Policy).reason:
        if one.name == name and one.value in ("", value) and value.startswith(one.begins):
            return one.why
    return ""


def ignored_on(nodes: Sequence[NodeContext], name: str) -> str:
    """Why every one of these nodes ignores that variable; empty where one of them may read it."""
    for one in shipped(Policy).ignored:
        if one.name == name and nodes and all(_has(node, one.gpus) for node in nodes):
            return one.why
    return ""


def _has(node: NodeContext, words: Sequence[str]) -> bool:
    """Whether the node has GPUs, and each is of that kind."""
    return bool(node.gpus) and all(any(word in gpu for word in words) for gpu in node.gpus)


def left_unset(run: Run, named: Sequence[str]) -> tuple[str, ...]:
    """What the preset leaves unset on purpose, a sentence each; what it names all the same is not said."""
    if run.plan.backend != "nccl":
        return ()
    return tuple(
        f"{one.name} is left alone (NCCL {one.nccl}): {one.why}."
        for one in shipped(Policy).unset
        if one.name not in named
    )


def expiry(run: Run, valid_days: int | None = None) -> str:
    """When the preset is to be measured again (ISO 8601, UTC): so many days after the last launch; "" for 0 days.

    A run whose launches have no readable time is taken to be of now.
    """
    days = shipped(Policy).valid_days if valid_days is None else valid_days
    if not days:
        return ""
    times = [moment for launch in run.launches if (moment := _moment(launch.started)) is not None]
    end = max(times, default=datetime.now(UTC)) + timedelta(days=days)
    return end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
