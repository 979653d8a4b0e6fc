"""A script that starts Ray on one node with that node's variables: workers inherit those of their `ray start`.

The driver's own environment reaches them otherwise: older vLLM executors copy the driver's NCCL_ and UCX_ variables
over the nodes' (vllm/executor/ray_utils.py), which destroys lists of HCAs. The comment names the file against it.
"""

from __future__ import annotations

import json

from fabricdoc.export.comments import comment
from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.places import address
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells
from fabricdoc.export.scripts import begin, master, server_exports

READERS = ("sh with ray start",)
PORT = 6379


def write(content: Content) -> str:
    """The script; its own arguments go to `ray start`."""
    node = content.nodes[0]
    lines = begin(content, "starts Ray on this node: sh FILE [OPTIONS OF ray start]")
    if content.differing:
        names = json.dumps(sorted(content.differing))
        lines += comment(f"with vLLM put {names} into $VLLM_CONFIG_ROOT/ray_non_carry_over_env_vars.json on the head")
    lines += server_exports(content, "VLLM_HOST_IP")
    here = address(content.preset, node)
    words = ["--head", f"--port={PORT}"] if content.rank(node) == 0 else [f"--address={master(content)}:{PORT}"]
    words += [f"--node-ip-address={here}"] if here else []
    lines.append(f'exec ray start {" ".join(shell(word) for word in words)} "$@"')
    return "\n".join(lines) + "\n"


FORMAT = Format("ray-start", READERS, "node", ".ray-start.sh", not_for_shells, write, runs=True)
