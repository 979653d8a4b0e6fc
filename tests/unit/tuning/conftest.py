"""Synthetic runs with a known true effect and known noise, so that a verdict can be held against the truth."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from fabricdoc.model.fabric import Endpoint, Link, LinkProof
from fabricdoc.model.profile import Profile
from fabricdoc.model.run import Candidate, Cell, Estimate, Launch, NodeContext, Plan, Proof, Rank, Run
from fabricdoc.serving import load_profile

DECODE = ("eager", "all_reduce", 20480)
PREFILL = ("eager", "all_reduce", 2621440)
TRUE_US = {
    ("eager", "all_reduce", 8): 40.0,
    DECODE: 80.0,
    PREFILL: 3000.0,
    ("eager", "all_gather", 64000): 60.0,
    ("eager", "all_gather", 256000): 150.0,
}


@dataclass
class Synthetic:
    """What a synthetic run is made of. `effects` are true ratios base / candidate, by candidate and cell (or None)."""

    effects: Mapping[str, Mapping[tuple[str, str, int] | None, float]] = field(default_factory=lambda: {"one": {}})
    noise: float = 0.05
    drift: float = 0.1
    blocks: int = 8
    confirm: int = 8
    seed: int = 1
    true_us: Mapping[tuple[str, str, int], float] = field(default_factory=lambda: dict(TRUE_US))
    candidates: Sequence[Candidate] = ()
    backend: str = "gloo"
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    changes: Mapping[tuple[str, str, int], Mapping[str, Any]] = field(default_factory=dict)
    """Fields of single launches to overwrite, by candidate, round and block (base: the first of the block)."""

    def run(self) -> Run:
        self._random = random.Random(self.seed)
        self._launches: list[Launch] = []
        candidates = self.candidates or tuple(
            Candidate(name=name, variables={f"VAR_{index}": name}) for index, name in enumerate(self.effects)
        )
        base = Candidate(name="base", role="base", variables={"GLOO_SOCKET_IFNAME": "eth0"}, why="the only rail")
        for round_, blocks in (("search", self.blocks), ("confirm", self.confirm)):
            for block in range(blocks):
                self._block(round_, block, [base.name, base.name, *(one.name for one in candidates)])
        return _run((base, *candidates), tuple(self._launches), self.backend, self.blocks)

    def _block(self, round_: str, block: int, names: list[str]) -> None:
        self._random.shuffle(names)
        drift = self._random.gauss(0.0, self.drift)
        seen: set[str] = set()
        for position, name in enumerate(names):
            changes = {} if name in seen else dict(self.changes.get((name, round_, block), {}))
            seen.add(name)
            fields: dict[str, Any] = {
                "number": len(self._launches) + 1, "round": round_, "block": block, "position": position,
                "candidate": name, "status": "ok", "seconds": 1.0, "started": "2026-11-29T10:00:00Z",
                "cells": self._cells(name, drift), "proof": self.proofs.get(name),
            }  # fmt: skip
            self._launches.append(Launch(**(fields | changes)))

    def _cells(self, name: str, drift: float) -> tuple[Cell, ...]:
        common = self._random.gauss(0.0, self.noise)
        effects = self.effects.get(name, {})
        cells = []
        for (view, op, size), micros in self.true_us.items():
            ratio = effects.get((view, op, size), effects.get(None, 1.0))
            took = micros / ratio * math.exp(drift + common + self._random.gauss(0.0, self.noise / 3))
            cells.append(
                Cell(view=view, op=op, size=size, dtype="bfloat16", calls=50, median_us=took, p95_us=took * 1.1,
                     p99_us=took * 1.2, max_us=took * 1.5, correct=True)
            )  # fmt: skip
        return tuple(cells)


def _run(candidates: tuple[Candidate, ...], launches: tuple[Launch, ...], backend: str, blocks: int) -> Run:
    names = ("alpha", "beta")
    plan = Plan(
        backend=backend, ranks=tuple(Rank(rank=index, node=name, local_rank=0) for index, name in enumerate(names)),
        candidates=candidates, shapes=(), views=("eager",), blocks=blocks, seed=1, launch_deadline_s=30.0,
        profile="dense-small-tp2", objective="mix",
        estimate=Estimate(launches=len(launches), seconds=60.0, bytes_per_link=1, memory_per_node=1),
    )  # fmt: skip
    nodes = tuple(
        NodeContext(name=name, target=f"netns:{name}", hostname="lab", kernel="6.1", torch="2.13.0",
                    nccl={"unknown": "gloo"}, nvidia_driver={"unknown": "no GPU"})
        for name in names
    )  # fmt: skip
    link = Link(
        a=Endpoint(node="alpha", netdev="eth0", mac="02:00:00:00:00:01", hca="mlx5_0", ip="10.77.0.1"),
        b=Endpoint(node="beta", netdev="eth1", mac="02:00:00:00:00:02"),
        kind="cable",
        proof=LinkProof(method="beacon", at="2026-11-29T09:59:00Z", frames_a_to_b=3, frames_b_to_a=3),
    )
    return Run(id="run-1", status="complete", plan=plan, nodes=nodes, links=(link,), launches=launches)


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., Synthetic]:
    return Synthetic


@pytest.fixture(scope="session")
def profile() -> Profile:
    return load_profile("dense-small-tp2")
