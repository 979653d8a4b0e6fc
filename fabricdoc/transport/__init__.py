"""Reaching nodes: what a node is, how its target becomes a command here, and talking to a probe that runs on it.

The one room that starts programs for other rooms and the one place where words become a shell's command line. It
carries messages; what they mean is the probes' and the jobs' matter. No scheduler, no copying of files, no installing.
What only some commands need is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from fabricdoc.doors import opened
from fabricdoc.transport.answer import Answer
from fabricdoc.transport.ask import Asking, ask
from fabricdoc.transport.channels import Channels, open_channels, open_some
from fabricdoc.transport.command import Said, output_of
from fabricdoc.transport.config import FILE_NAME, Config, as_configured, load_config
from fabricdoc.transport.grammar import GRAMMAR
from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec, check_unique, default_name, parse_node, parse_nodes
from fabricdoc.transport.targets import reached_by
from fabricdoc.transport.zipapp import build_zip, probe_sources, probe_zip

if TYPE_CHECKING:
    from fabricdoc.transport.announced import announced_peers
    from fabricdoc.transport.hostfile import read_hostfile
    from fabricdoc.transport.peers import Peer, hosts_of, known_peers
    from fabricdoc.transport.slurm import allocated_nodes, allocated_peers

LATER = {
    "announced": ("announced_peers",),
    "hostfile": ("read_hostfile",),
    "peers": ("Peer", "hosts_of", "known_peers"),
    "slurm": ("allocated_nodes", "allocated_peers"),
}

__all__ = [
    "DEFAULT_PYTHON",
    "FILE_NAME",
    "GRAMMAR",
    "Answer",
    "Asking",
    "Channels",
    "Config",
    "NodeSpec",
    "Peer",
    "Said",
    "allocated_nodes",
    "allocated_peers",
    "announced_peers",
    "as_configured",
    "ask",
    "build_zip",
    "check_unique",
    "default_name",
    "hosts_of",
    "known_peers",
    "load_config",
    "open_channels",
    "open_some",
    "output_of",
    "parse_node",
    "parse_nodes",
    "probe_sources",
    "probe_zip",
    "reached_by",
    "read_hostfile",
]


__getattr__ = opened(__name__, LATER)
