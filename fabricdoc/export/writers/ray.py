"""Ray's runtime_env: {"env_vars": {NAME: value}} for ray.init or `ray job submit --runtime-env`.

One value for all nodes, text to text (Ray documentation, Environment dependencies), so only what all nodes share.
"""

from __future__ import annotations

import json

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.rules import not_a_value

READERS = ("Ray runtime_env",)


def refuse(name: str, value: str) -> str:
    """`${NAME}` is expanded in env_vars (Ray, runtime_env), and there is no escape."""
    return not_a_value(name, value) or ("holds `$`, which Ray expands" if "$" in value else "")


def write(content: Content) -> str:
    """The JSON text."""
    return json.dumps({"env_vars": {line.name: line.value for line in content.common}}, indent=2) + "\n"


FORMAT = Format(
    "ray",
    READERS,
    "common",
    "nccl-runtime-env.json",
    refuse,
    write,
    left_out=lambda content: content.differing,
    elsewhere="they differ per node: --format ray-start",
)
