"""The families of checks, what each needs to have anything to say, and the one function that runs them over a fabric.

Every family is a module `x` of this room with a function `check_x`. One that can say nothing about a fabric is not even
loaded: a scan of one machine must answer at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

from fabricdoc.checks.catalogue import found_on_the_wire
from fabricdoc.checks.ports import hcas_of
from fabricdoc.model.documents import NOT_READ
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding

Check = Callable[[Fabric], tuple[Finding, ...]]

WITH_HCAS = (
    "access",
    "links",
    "speeds",
    "port_mtu",
    "cages",
    "gids",
    "gid_choices",
    "gid_pins",
    "gid_layout",
    "gpus",
    "gpu_peers",
    "kernel_log",
    "memory",
    "qos_classes",
    "qos_pairs",
)
"""About one node where there are HCAs; some hold its ports against one another, and against those of other nodes."""
ALWAYS = (
    "containers",
    "selection",
    "interfaces",
    "environment",
    "subnets",
    "routing",
    "persistence",
    "pcie",
    "gpudirect",
    "hotplug",
    "system",
    "libraries",
    "ucx",
)
"""About one node, whatever it has."""
WITH_IMAGES = ("images",)
"""About one node of which fabric.toml names its server's image."""
WITH_COUNTERS = ("counters",)
"""About one node whose counters were read."""
BETWEEN = ("firewall", "mtu", "identity")
"""About several nodes, beside those that `between` lists."""
ORDER = ("error", "warning", "info")


def check_fabric(fabric: Fabric) -> tuple[Finding, ...]:
    """Every finding about a fabric's nodes: errors first, then by id and subject."""
    found = [finding for check in checks_for(fabric) for finding in check(fabric)]
    return tuple(sorted(found, key=lambda one: (ORDER.index(one.severity), one.id, one.subject)))


def judged(fabric: Fabric) -> Fabric:
    """The fabric with what the checks say of it now; findings that only frames on the wire can make are kept."""
    kept = [one for one in fabric.findings if found_on_the_wire(one.id)]
    return fabric.model_copy(update={"findings": (*check_fabric(fabric), *kept)})


def checks_for(fabric: Fabric) -> tuple[Check, ...]:
    """The checks that could say something about this fabric."""
    chosen = [*ALWAYS]
    if any(map(hcas_of, fabric.nodes)):
        chosen += WITH_HCAS
    if any(isinstance(node.counters, tuple) and node.counters for node in fabric.nodes):
        chosen += WITH_COUNTERS
    if any(node.image != NOT_READ for node in fabric.nodes):
        chosen += WITH_IMAGES
    return (*_loaded(chosen), *(between_checks() if len(fabric.nodes) > 1 else ()))


def one_node_checks() -> tuple[Check, ...]:
    """Every check that has something to say of a single node; each is a single pass over the nodes."""
    return _loaded((*WITH_HCAS, *ALWAYS, *WITH_COUNTERS, *WITH_IMAGES))


def between_checks() -> tuple[Check, ...]:
    """Every check that needs several nodes."""
    from fabricdoc.checks.between import BETWEEN as held_together

    return (*_loaded(BETWEEN), *held_together)


def _loaded(names: Iterable[str]) -> tuple[Check, ...]:
    return tuple(getattr(import_module(f"fabricdoc.checks.{name}"), f"check_{name}") for name in names)
