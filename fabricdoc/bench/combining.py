"""Two candidates as one: the union of their variables, where none contradicts the other.

Knows no times; which candidates are worth combining is `search`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabricdoc.model.run import Candidate
from fabricdoc.nccl import check_variables

COMBINED = "combined"  # the set_name of a candidate that a search made


def combined(members: Sequence[Candidate]) -> Candidate | None:
    """The candidate that holds all variables of `members` (in order), or None where two of them clash.

    They clash where one variable would have two values on a node, where their variables work against one another (a
    lower bound above an upper one), or where one lies on base's variables and another stands alone. Nothing is made of
    fewer than two, or where one member holds all variables already.
    """
    if len(members) < 2 or len({one.on_base for one in members}) > 1:
        return None
    nodes = {node for one in members for node in one.node_variables}
    common = _union([one.variables for one in members])
    per_node = {node: _union([one.node_variables.get(node, {}) for one in members]) for node in sorted(nodes)}
    if common is None or any(values is None or common.keys() & values.keys() for values in per_node.values()):
        return None
    own = {node: values for node, values in per_node.items() if values}
    if any((one.variables, one.node_variables) == (common, own) for one in members):
        return None
    if _contradict(common, own) and not any(_contradict(one.variables, one.node_variables) for one in members):
        return None
    names = [one.name for one in members]
    return Candidate(
        name="+".join(names),
        variables=common,
        node_variables=own,
        on_base=members[0].on_base,
        targets=tuple(dict.fromkeys(t for one in members for t in one.targets if t != "none")) or ("none",),
        why=f"{' and '.join(names)} together",
        source="; ".join(dict.fromkeys(one.source for one in members if one.source)),
        set_name=COMBINED,
        risk=" ".join(dict.fromkeys(one.risk for one in members if one.risk)),
        fresh_agent=any(one.fresh_agent for one in members),
    )


def _contradict(common: Mapping[str, str], own: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether variables of one set work against one another on a node."""
    whole = [{**common, **values} for values in own.values() or ({},)]
    return any(one.id == "contradiction" for values in whole for one in check_variables(values))


def _union(parts: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """All of them together; None where a name has two values."""
    union: dict[str, str] = {}
    for part in parts:
        if any(union.get(name, value) != value for name, value in part.items()):
            return None
        union |= part
    return union
