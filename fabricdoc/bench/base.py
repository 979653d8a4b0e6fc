"""The base candidate and the sets made from the proven rails: selectors, interfaces, the network to use.

Base holds only what makes this fabric work. Everything here comes from the cable map; nothing is guessed from
names. Which set is faster is not decided here.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabricdoc.bench.engines import Engine
from fabricdoc.errors import InconclusiveError
from fabricdoc.fabric import Rail
from fabricdoc.model.run import Backend, Candidate
from fabricdoc.nccl import gloo_variables, nccl_variables


def selectors(backend: Backend, rails: Sequence[Rail], node: str) -> dict[str, str]:
    """The variables that make `node` use exactly these rails; InconclusiveError for a name that no list can hold."""
    ports = [rail.port(node) for rail in rails]
    try:
        return gloo_variables(ports) if backend == "gloo" else nccl_variables(ports)
    except ValueError as error:
        raise InconclusiveError(
            f"{node}: {error}", fix="rename the interface or the device", id="port-name-not-writable"
        ) from error


def _why(backend: Backend, rails: Sequence[Rail]) -> str:
    proof = "links proven by beacons" if all(rail.proven for rail in rails) else "shared subnets, cabling not proven"
    pairs = "; ".join(" - ".join(f"{port.node}/{port.netdev}" for port in rail.ports) for rail in rails)
    return f"{pairs} ({proof})"


def _on_rails(name: str, role: str, backend: Backend, rails: Sequence[Rail], nodes: Sequence[str]) -> Candidate:
    return Candidate.model_validate(
        {
            "name": name,
            "role": role,
            "node_variables": {node: selectors(backend, rails, node) for node in nodes},
            "on_base": role != "base",
            "targets": ("rails",),
            "why": _why(backend, rails),
            "source": "cable map",
            "set_name": "base" if role == "base" else "both-nics",
        }
    )


def base_candidate(
    backend: Backend, rails: Sequence[Rail], nodes: Sequence[str], *, single: bool, engine: Engine | None = None
) -> Candidate:
    """Base: the first rail alone (`single`), else every proven rail, and what the engine sets by itself.

    Raises InconclusiveError without a rail.
    """
    if not rails:
        raise InconclusiveError(
            "no rail joins all nodes: no proven link, and no shared subnet",
            fix="run `fabricdoc cables` to see which port meets which; list ports with --ports",
            id="no-common-rail",
        )
    base = _on_rails("base", "base", backend, rails[:1] if single else rails, nodes)
    if engine is None or backend != "nccl":
        return base
    sets = ", ".join(f"{name}={value}" for name, value in engine.variables.items()) or "nothing"
    why = f"{base.why}; {engine.name} sets {sets} by itself ({engine.source})"
    return base.model_copy(update={"variables": engine.variables, "why": why})


def rail_candidates(backend: Backend, rails: Sequence[Rail], nodes: Sequence[str]) -> tuple[Candidate, ...]:
    """`both-nics` (every rail) and each other single rail: what `--both-nics` weighs against the first rail, base's."""
    if len(rails) < 2:
        return ()
    every = _on_rails("both-nics" if len(rails) == 2 else "all-nics", "candidate", backend, rails, nodes)
    others = [
        _on_rails(f"rail-{index}", "candidate", backend, [rail], nodes) for index, rail in enumerate(rails) if index
    ]
    return (every, *others)


def bare_default() -> Candidate:
    """No variable at all: what happens when nobody sets anything. Its failure is a finding, not the end."""
    return Candidate(
        name="default",
        role="default",
        on_base=False,
        why="nothing set",
        source="bare environment",
        set_name="default",
    )
