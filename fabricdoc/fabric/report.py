"""A probe's raw report made a node of the fabric document, or refused.

What a node says is untrusted: sizes are bounded before anything looks at the meaning, types are checked
strictly, and a key the model does not know is an error. What follows from a node's facts alone (cages, NCCL's GIDs,
paths between GPUs and HCAs) is filled in here. Escaping for a terminal or HTML is `report`'s.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Any

from pydantic import ValidationError

from fabricdoc.errors import NodeError
from fabricdoc.fabric.cages import cages_of
from fabricdoc.fabric.gpu_paths import gpu_paths
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Node, NodeReport
from fabricdoc.nccl import gid_choices

MAX_TEXT = 4096
MAX_VALUES = 1_000_000
MAX_DEPTH = 16
MAX_NUMBER = 2**63
SHOWN = 120


def read_report(name: str, target: str, raw: Any) -> Node:
    """The node `name` at `target` from its raw report (the fields of model.fabric.NodeReport).

    Raises NodeError (id "report-invalid") naming the node and the first thing that is wrong.
    """
    try:
        check_bounds(raw)
        report = NodeReport.model_validate_json(json.dumps(raw, allow_nan=False), strict=True)
        check_addresses(report)
    except ValidationError as error:
        raise _refusal(name, _first(error)) from error
    except (ValueError, RecursionError) as error:
        raise _refusal(name, str(error)[:SHOWN]) from error
    # every part is a checked model already, and building the validator of a whole node once more takes long
    return Node.model_construct(name=name, target=target, **dict(report), **what_follows(report))


def what_follows(report: NodeReport) -> dict[str, Any]:
    """The fields of a node that follow from what its probe reported: cages, NCCL's choice of GIDs, paths to GPUs."""
    return {"cages": cages_of(report), "nccl_gids": gid_choices(report.hcas), "gpu_paths": gpu_paths(report)}


def check_bounds(raw: Any) -> None:
    """Raise ValueError for text above 4096 characters, nesting above 16, numbers beyond 64 bits, or too many values."""
    waiting: list[tuple[Any, int]] = [(raw, 1)]
    seen = 0
    while waiting:
        value, depth = waiting.pop()
        seen += 1
        if seen > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        _check_one(value)
        waiting += [(inner, depth + 1) for inner in _inside(value)]


def check_addresses(report: NodeReport) -> None:
    """Raise ValueError for an interface's address that is none, or whose prefix does not fit its family."""
    for netdev in () if isinstance(report.netdevs, Unknown) else report.netdevs:
        for address in netdev.addresses:
            version = ipaddress.ip_interface(f"{address.ip}/{address.prefix}").version
            if address.family != f"ipv{version}":
                raise ValueError(f"{address.ip!r} is no {address.family} address")


def _check_one(value: Any) -> None:
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise ValueError(f"a text of {len(value)} characters (at most {MAX_TEXT})")
    if isinstance(value, int) and abs(value) > MAX_NUMBER:
        raise ValueError("a number beyond 64 bits")


def _inside(value: Any) -> list[Any]:
    """The values one level down; the keys of an object count too."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    return list(value) if isinstance(value, list) else []


def _first(error: ValidationError) -> str:
    """Where the first mistake is and what it is, both cut short: they quote the node."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where[:SHOWN]!r}: {first['msg'][:SHOWN]}"


def _refusal(name: str, reason: str) -> NodeError:
    return NodeError(
        f"{name}: the scan probe's report is not valid: {reason}",
        fix="run the scan again; if it stays so, something on the node answers in the probe's place",
        id="report-invalid",
    )
