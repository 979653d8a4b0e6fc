"""A script that starts SGLang's part on one node (`launch_server --nnodes`), with the variables it needs there.

SGLANG_HOST_IP is the address of the queue it opens between nodes, found by itself otherwise: on a Spark that may be the
wireless one, and both ranks then hang after NCCL has connected (MiaAI-Lab Qwen3.8, issue 3). SGLang 0.5 sets
NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE to 0 where they are unset.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells
from fabricdoc.export.scripts import MASTER_PORT, begin, master, server_exports

READERS = ("sh with sglang.launch_server",)
FIRST_LAUNCH = ("--dist-timeout", "1800", "--watchdog-timeout", "1800")
"""Seconds for a first launch: SGLang's time-outs are flags, and loading and capturing may outlast its own (300 s for
the watchdog). They stand before the user's words, so that his win."""


def write(content: Content) -> str:
    """The script; its arguments (--model-path MODEL --tp N ...) go to the server."""
    node = content.nodes[0]
    lines = begin(content, "starts SGLang on this node: sh FILE --model-path MODEL --tp N ..., the same on every node")
    lines += server_exports(content, "SGLANG_HOST_IP")
    words = []
    if len(content.preset.nodes) > 1:
        words = ["--nnodes", str(len(content.preset.nodes)), "--node-rank", str(content.rank(node))]
        words += ["--dist-init-addr", shell(_endpoint(master(content)))]
    first = FIRST_LAUNCH if any(line.kind == "diagnostic" for line in node.lines) else ()
    start = " ".join(["exec python3 -m sglang.launch_server", *first, '"$@"', *words])
    return "\n".join([*lines, start]) + "\n"


def _endpoint(address: str) -> str:
    return f"[{address}]:{MASTER_PORT}" if ":" in address else f"{address}:{MASTER_PORT}"


FORMAT = Format("sglang", READERS, "node", ".sglang.sh", not_for_shells, write, runs=True)
