"""A script that starts vLLM's part on one node (`vllm serve --nnodes`), with the variables vLLM itself needs there.

vLLM 0.33: worker processes inherit the environment of their node's server. VLLM_HOST_IP is the address its control
connections use (else that of the default route); gloo and TensorPipe take GLOO_ and TP_SOCKET_IFNAME.
"""

from __future__ import annotations

from fabricdoc.export.content import Content
from fabricdoc.export.formats import Format
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import not_for_shells
from fabricdoc.export.scripts import MASTER_PORT, begin, master, server_exports

READERS = ("sh with vllm serve",)


def write(content: Content) -> str:
    """The script; its arguments (MODEL --tensor-parallel-size N ...) go to `vllm serve`."""
    node = content.nodes[0]
    lines = begin(
        content, "starts vLLM on this node: sh FILE MODEL --tensor-parallel-size N ..., the same on every node"
    )
    lines += server_exports(content, "VLLM_HOST_IP")
    words = []
    if len(content.preset.nodes) > 1:
        words = ["--nnodes", str(len(content.preset.nodes)), "--node-rank", str(content.rank(node))]
        words += ["--master-addr", shell(master(content)), "--master-port", str(MASTER_PORT)]
        words += ["--headless"] if content.rank(node) else []
    return "\n".join([*lines, " ".join(['exec vllm serve "$@"', *words])]) + "\n"


FORMAT = Format("vllm", READERS, "node", ".vllm.sh", not_for_shells, write, runs=True)
