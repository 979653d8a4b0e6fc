"""An `env:` mapping for a sparkrun recipe: what all nodes share.

A recipe's env beats what sparkrun finds per host (sparkrun src/sparkrun/orchestration), so names that differ per node
have no place in it. Values are YAML strings that it quotes for the shell itself.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import yaml
from fabricdoc.export.rules import not_one_line

READERS = ("sparkrun recipe",)


def refuse(name: str, value: str) -> str:
    """Braces, which sparkrun's recipes use for their own variables."""
    reason = not_one_line(name, value)
    if reason:
        return reason
    return "holds a brace or `$`, which a recipe may expand" if set(value) & set("{}$") else ""


def write(content: Content) -> str:
    """The mapping, each variable under its evidence."""
    lines = head(content, "into a sparkrun recipe: the same on every node")
    if content.differing:
        lines += comment(f"{', '.join(content.differing)}: differ per node; sparkrun finds its own")
    lines.append("env:" if content.common else "env: {}")
    for line in content.common:
        lines += [f"  {text}" for text in comment(evidence(line))]
        lines.append(f"  {line.name}: {yaml(line.value)}")
    return "\n".join(lines) + "\n"


FORMAT = Format(
    "sparkrun",
    READERS,
    "common",
    "sparkrun-env.yaml",
    refuse,
    write,
    left_out=lambda content: content.differing,
    elsewhere="one value would go to all nodes; sparkrun finds each node's own",
)
