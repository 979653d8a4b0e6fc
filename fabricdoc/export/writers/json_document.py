"""A JSON document of one node's variables, for programs: any text but NUL survives (RFC 8259)."""

from __future__ import annotations

import json

from fabricdoc.export.comments import evidence
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_a_value


def write(content: Content) -> str:
    """The document: schema, preset, node, variables, and the evidence of each."""
    node = content.nodes[0]
    document = {
        "schema": "fabricdoc/env/1",
        "fabricdoc": content.preset.fabricdoc,
        "created": content.preset.created,
        "preset": content.preset.name,
        "node": node.name,
        "variables": {line.name: line.value for line in node.lines},
        "evidence": {line.name: evidence(line) for line in node.lines},
    }
    return json.dumps(document, indent=2) + "\n"


FORMAT = Format("json", ("programs",), "node", ".json", not_a_value, write, with_common=True)
