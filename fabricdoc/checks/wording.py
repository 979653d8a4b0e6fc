"""What every family needs to say its findings alike: evidence of a node, headings of fixes, a check for every node.

No finding comes from here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Node
from fabricdoc.model.findings import Evidence, Finding

NodeCheck = Callable[[Node], Iterable[Finding]]


def of_nodes(fabric: Fabric, *checks: NodeCheck) -> tuple[Finding, ...]:
    """What the checks find on each node by itself."""
    return tuple(finding for node in fabric.nodes for check in checks for finding in check(node))


def seen(node: Node, *texts: str) -> tuple[Evidence, ...]:
    """Evidence read on a node, one piece for each text."""
    return tuple(Evidence(file=node.name, text=text) for text in texts)


def commands(node: Node, *argv: Sequence[str]) -> tuple[str, ...]:
    """Lines to paste on the node: a heading with its name, then each command quoted for a shell."""
    return (f"on {node.name}:", *(shlex.join(one) for one in argv))


def exported(name: str, value: str) -> str:
    """`export NAME=value` for any shell: zsh would take a `=` in front of a value for itself."""
    safe = shlex.quote(value)
    return f"export {name}='{value}'" if value.startswith("=") and safe == value else f"export {name}={safe}"


def restart(netdev: str) -> tuple[list[str], list[str]]:
    """The two commands that set an interface down and up again, so that it negotiates anew."""
    down_and_up = [["sudo", "ip", "link", "set", "dev", netdev, state] for state in ("down", "up")]
    return down_and_up[0], down_and_up[1]


def listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def plain(fact: object) -> str:
    """A fact in words: its value, or "unknown"."""
    return "unknown" if isinstance(fact, Unknown) else str(fact)
