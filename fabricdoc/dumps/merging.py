"""Facts that texts told of a node, made the report a probe would have given: what nobody told is unknown.

Only what the model has a place for is taken. Derived facts (cages, the GID that NCCL takes) are `fabric`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fabricdoc.dumps.merging_netdevs import netdevs
from fabricdoc.dumps.merging_ports import hcas
from fabricdoc.dumps.sources import Facts
from fabricdoc.fabric import read_report
from fabricdoc.model.fabric import Container, Gpu, GpuPath, Host, Node, PcieFunction

NOT_TOLD = {"unknown": "not in the dump"}
MINUS = {"Host": ("environment",)}


def merged(name: str, target: str, facts: Facts) -> Node:
    """The node `name`. NodeError where the facts together are no valid report."""
    index = by_subject(facts)
    report = {
        "hcas": hcas(index) or NOT_TOLD,
        "netdevs": netdevs(index) or NOT_TOLD,
        "routes": listed(facts, "route"),
        "rules": listed(facts, "rule"),
        "neighbours": listed(facts, "neighbour"),
        "gpus": gpus(index) or NOT_TOLD,
        "pcie": pcie(index) or NOT_TOLD,
        "counters": counters(facts) or NOT_TOLD,
        "lldp": lldp(index) or NOT_TOLD,
        "host": filled(Host.model_fields, index.get(("host",), {}), {"environment": {}}),
        "container": filled(Container.model_fields, index.get(("container",), {}), {"evidence": ""}),
    }
    node = read_report(name, target, report)
    paths = tuple(GpuPath(gpu=int(path[1]), hca=str(path[2]), path=str(value)) for path, value in facts.kind("path"))
    return node.model_copy(update={"gpu_paths": paths}) if paths else node


def by_subject(facts: Facts) -> dict[tuple[str | int, ...], dict[str, Any]]:
    """(kind, ...subject) -> field -> value, in the order told."""
    index: dict[tuple[str | int, ...], dict[str, Any]] = defaultdict(dict)
    for path, value in facts.values.items():
        index[path[:-1]][str(path[-1])] = value
    return dict(index)


def filled(fields: Iterable[str], told: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Every field of a model whose fields are facts: as told, else fixed, else unknown."""
    return {name: told.get(name, fixed.get(name, NOT_TOLD)) for name in fields}


def listed(facts: Facts, kind: str) -> Any:
    """The objects of a kind, each a fact of its own; unknown where none was told."""
    return [value for _path, value in facts.kind(kind)] or NOT_TOLD


def gpus(index: Mapping[tuple[str | int, ...], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every GPU told of, by index."""
    found = {int(subject[1]): told for subject, told in index.items() if subject[0] == "gpu"}
    return [filled(Gpu.model_fields, found[number], {"index": number}) for number in sorted(found)]


def pcie(index: Mapping[tuple[str | int, ...], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every PCIe function told of, with the bridges above it by the bus numbers that bridges tell."""
    found = {str(subject[1]): told for subject, told in index.items() if subject[0] == "pcie" and subject[1]}
    bridges = {address: told["buses"] for address, told in found.items() if "buses" in told}
    return [
        filled(
            PcieFunction.model_fields,
            {key: value for key, value in told.items() if key != "buses"},
            {
                "address": address,
                "upstream": above(address, bridges),
                "physical_function": None,
                "aer": {},
                "gone": False,
            },
        )
        for address, told in sorted(found.items())
    ]


def above(address: str, bridges: Mapping[str, tuple[int, int]]) -> list[str]:
    """The bridges whose bus range holds an address, from the root down."""
    domain, bus = address.split(":")[0], int(address.split(":")[1], 16)
    over = [
        (low, -high, bridge)
        for bridge, (low, high) in bridges.items()
        if bridge.startswith(f"{domain}:") and low <= bus <= high and bridge != address
    ]
    return [bridge for _low, _high, bridge in sorted(over)]


def lldp(index: Mapping[tuple[str | int, ...], Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every LLDP neighbour told of that names its chassis and its port."""
    return [
        {"netdev": str(subject[1]), **told}
        for subject, told in index.items()
        if subject[0] == "lldp" and "chassis" in told and "port" in told
    ]


def counters(facts: Facts) -> list[dict[str, Any]]:
    """Counters by subject and source, those that are 0 left out but counted."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for path, value in facts.kind("counter"):
        found[(str(path[1]), str(path[2]))][str(path[3])] = value
    return [
        {
            "subject": subject,
            "source": source,
            "values": {name: value for name, value in values.items() if value},
            "deltas": {},
            "names": len(values),
        }
        for (subject, source), values in found.items()
    ]
