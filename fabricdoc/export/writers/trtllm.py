"""A script for the head that starts TensorRT-LLM on all nodes: mpirun, the wrapper, trtllm-llmapi-launch.

Ranks on other hosts get only what mpirun hands on or a wrapper sets (TensorRT-LLM, multi-node serving), so every
variable, per host, comes from nccl-wrapper.sh (--format mpirun-wrapper), which must lie at the same path on each host.
"""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content, print_of
from fabricdoc.export.formats import Format
from fabricdoc.export.places import address, interface
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import PLAIN, not_for_shells
from fabricdoc.export.scripts import begin
from fabricdoc.model.preset import NodePreset

READERS = ("sh with trtllm-llmapi-launch",)


def write(content: Content) -> str:
    """The script; its arguments (trtllm-serve MODEL --tp_size N ...) go to the launcher."""
    lines = begin(content, "starts TensorRT-LLM from the head: sh FILE trtllm-serve MODEL --tp_size N ...")
    hosts = [f"{_host(content, node)}:{_ranks(content, node)}" for node in content.preset.nodes]
    total = sum(_ranks(content, node) for node in content.preset.nodes)
    words = ["exec mpirun", "-np", str(total), "--host", shell(",".join(hosts))]
    if netdev := _shared_interface(content):
        words += ["--mca", "btl_tcp_if_include", shell(netdev), "--mca", "oob_tcp_if_include", shell(netdev)]
    words += ["sh", '"${NCCL_WRAPPER:-./nccl-wrapper.sh}"', "trtllm-llmapi-launch", '"$@"']
    return "\n".join([*lines, " ".join(words)]) + "\n"


def _host(content: Content, node: NodePreset) -> str:
    """The node's address; its name where the preset has none."""
    found = address(content.preset, node) or node.name
    if not PLAIN.match(found) or {",", ":"} & set(found):
        raise UsageError(f"node {found!r} can't be named to mpirun", fix="give it another name", id="node-name")
    return found


def _ranks(content: Content, node: NodePreset) -> int:
    """One rank per GPU that was recorded, at least one."""
    printed = print_of(content.preset, node)
    return max(1, len(printed.gpus)) if printed is not None else 1


def _shared_interface(content: Content) -> str:
    """mpirun takes one list for all hosts, so only a name that all share is given."""
    names = {interface(node) for node in content.preset.nodes}
    return names.pop() if len(names) == 1 else ""


FORMAT = Format("trtllm", READERS, "all", "nccl-trtllm.sh", not_for_shells, write, runs=True)
