"""An `environment:` mapping for a service of a compose file.

Values are YAML strings; compose interpolates `$` in them, and `$$` is a dollar (compose specification, Interpolation).
What is written here beats the service's env_file.
"""

from __future__ import annotations

from fabricdoc.export.comments import comment, evidence, head
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import yaml
from fabricdoc.export.rules import not_one_line

READERS = ("docker compose", "podman compose")


def write(content: Content) -> str:
    """The mapping, each variable under its evidence."""
    lines = head(content, "to be put into the service of a compose file")
    lines.append("environment:" if content.nodes[0].lines else "environment: {}")
    for line in content.nodes[0].lines:
        lines += [f"  {text}" for text in comment(evidence(line))]
        lines.append(f"  {line.name}: {yaml(line.value.replace('$', '$$'))}")
    return "\n".join(lines) + "\n"


FORMAT = Format("compose", READERS, "node", ".compose.yaml", not_one_line, write, with_common=True)
