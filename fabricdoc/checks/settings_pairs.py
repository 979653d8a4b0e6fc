"""NCCL's variables held against one another: those that must be equal on all ranks, as each node would set them.

What a server really gets may differ: it has an environment of its own. Which values are good is judged elsewhere.
"""

from __future__ import annotations

from typing import Any

from fabricdoc.checks.differences import Told, difference
from fabricdoc.checks.majority import Odd, split
from fabricdoc.checks.variables import Variable, variables
from fabricdoc.checks.wording import exported
from fabricdoc.model.documents import NOT_READ, Fact, Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Finding

NOT_SET = "not set"
LOGGING = frozenset({"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"})


def check_settings_pairs(fabric: Fabric) -> tuple[Finding, ...]:
    """env-differs-between-ranks: one warning per variable that must be equal and is not, among nodes that set any.

    A node without a single NCCL variable tells nothing of the ranks that will run there, so it has no vote.
    """
    own = {node.name: variables(node) for node in fabric.nodes if _was_read(node)}
    speaking = {name: found for name, found in own.items() if found.keys() - LOGGING}
    names = sorted({name for found in speaking.values() for name in found if _must_be_equal(name)})
    found = []
    for name in names:
        votes = [(node, _vote(known, name)) for node, known in speaking.items()]
        differing = split(votes)
        if differing is not None:
            found.append(difference(_told(name), differing))
    return tuple(found)


def _was_read(node: Node) -> bool:
    return bool(node.host.environment) or not isinstance(node.host.nccl_conf, Unknown)


def _vote(known: dict[str, Variable], name: str) -> Fact[str]:
    return known[name].value if name in known else NOT_SET if known else NOT_READ


def _must_be_equal(name: str) -> bool:
    from fabricdoc.nccl import catalogue

    known = catalogue().get(name)
    return known is not None and known.per_rank_may_differ is False and known.status != "removed"


def _told(name: str) -> Told:
    def one(odd: Odd[Any, Any]) -> tuple[str, ...]:
        line = f"unset {name}" if odd.usual == NOT_SET else exported(name, str(odd.usual))
        return (f"on {odd.key}:", line)

    return Told(
        "env-differs-between-ranks",
        "warning",
        name,
        f"NCCL takes {name} into account on each rank by itself, and it must be equal on all of them: NCCL does not "
        "check it, and ranks that differ hang, truncate messages or give wrong results.",
        one,
        (f"set {name} to one value on all ranks, or on none",),
        "likely",
    )
