"""A script that starts TensorRT-LLM on all nodes from the head: mpirun, this script again on each host, the launcher.

Ranks on other hosts get only what mpirun hands on or a wrapper sets (TensorRT-LLM, multi-node serving). So each host
runs this very file once more, which must lie at the same path there: it sets that host's variables, those of the
libraries beside NCCL too, and starts trtllm-llmapi-launch.
"""

from __future__ import annotations

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content, print_of
from fabricdoc.export.formats import Format
from fabricdoc.export.places import address, beside, interface
from fabricdoc.export.quoting import shell
from fabricdoc.export.rules import PLAIN, not_for_shells
from fabricdoc.export.scripts import begin, by_this_host, exports
from fabricdoc.model.preset import NodePreset

READERS = ("sh with trtllm-llmapi-launch",)
ON_HOST = "--on-host"


def write(content: Content) -> str:
    """The script; its arguments (trtllm-serve MODEL --tp_size N ...) go to the launcher."""
    lines = begin(content, "starts TensorRT-LLM from the head: sh FILE trtllm-serve MODEL --tp_size N ...")
    lines += [f'if [ "${{1:-}}" = {ON_HOST} ]; then', "  shift", *(f"  {line}" for line in _on_host(content)), "fi"]
    hosts = [f"{_host(content, node)}:{_ranks(content, node)}" for node in content.preset.nodes]
    total = sum(_ranks(content, node) for node in content.preset.nodes)
    words = ["exec mpirun", "-np", str(total), "--host", shell(",".join(hosts))]
    if netdev := _shared_interface(content):
        words += ["--mca", "btl_tcp_if_include", shell(netdev), "--mca", "oob_tcp_if_include", shell(netdev)]
    words += ["sh", '"$0"', ON_HOST, "trtllm-llmapi-launch", '"$@"']
    return "\n".join([*lines, " ".join(words)]) + "\n"


def _on_host(content: Content) -> list[str]:
    bodies = [(node, exports(node, beside(node)) or [":"]) for node in content.preset.nodes]
    return [*by_this_host(content, bodies), 'exec "$@"']


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
