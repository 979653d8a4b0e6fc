"""A small run in a store: three launches, one of them failed, with samples and a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.run import Candidate, Cell, Estimate, Launch, NodeContext, Plan, Proof, Rank, Run
from fabricdoc.model.verdict import CandidateVerdict, CellVerdict, Interval, Verdict
from fabricdoc.store import RunStore, SampleKey

UNKNOWN = {"unknown": "not read"}
RUN = "20260101-000000-ab12"


def plan() -> Plan:
    return Plan(
        backend="nccl",
        ranks=(Rank(rank=0, node="alpha", local_rank=0), Rank(rank=1, node="beta", local_rank=0)),
        candidates=(Candidate(name="base", role="base", set_name="base"), Candidate(name="tree", set_name="decode")),
        shapes=(),
        views=("graph", "throughput"),
        blocks=6,
        seed=7,
        launch_deadline_s=60,
        profile="p",
        objective="mix",
        estimate=Estimate(launches=3, seconds=9, bytes_per_link=1, memory_per_node=1),
    )


def launch(number: int, candidate: str, median: float, **more: Any) -> Launch:
    cell = {"view": "graph", "op": "all_reduce", "size": 20480, "dtype": "bfloat16", "calls": 3, "correct": True}
    times = {"median_us": median, "p95_us": median + 1, "p99_us": median + 2, "max_us": median + 3}
    proof = Proof(grade="seen", version="2.28.9", network="IB", gpu_direct=UNKNOWN)
    fields = {"round": "search", "block": 1, "position": number, "status": "ok", "seconds": 2.0, "started": "t"}
    cells = (Cell.model_validate(cell | times),)
    return Launch.model_validate(
        {"number": number, "candidate": candidate, "cells": cells, "proof": proof, **fields, **more}
    )


def verdict() -> Verdict:
    interval = Interval(ratio=1.25, low=1.1, high=1.4, blocks=6)
    cell = CellVerdict(
        view="graph",
        op="all_reduce",
        size=20480,
        phase="decode",
        base_us=40.0,
        candidate_us=32.0,
        interval=interval,
        floor=0.02,
        verdict="better",
    )
    one = CandidateVerdict(name="tree", verdict="better", reason="faster", score=interval, cells=(cell,))
    fields: dict[str, Any] = {"objective": "mix", "profile": "p", "backend": "nccl", "choice": "tree", "reason": ""}
    return Verdict(run=RUN, conclusive=True, blocks=6, floor=0.02, smallest_effect=0.1, candidates=(one,), **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a store with that run."""
    file = tmp_path / "runs.sqlite"
    context = NodeContext.model_validate(
        {"name": "alpha", "target": "a"}
        | dict.fromkeys(("hostname", "kernel", "torch", "nccl", "nvidia_driver"), UNKNOWN)
    )
    with RunStore.open(file, write=True) as store:
        store.begin(Run(id=RUN, plan=plan(), nodes=(context,)))
        key = SampleKey("graph", "all_reduce", 20480, "bfloat16", 0)
        store.append_launch(RUN, launch(1, "base", 40.0), {key: (39.0, 40.0, 41.0), key._replace(rank=1): (40.0,)})
        store.append_launch(RUN, launch(2, "tree", 32.0), {key: (32.0,)})
        failed = {
            "status": "failed",
            "phase": "init",
            "rank": 1,
            "reason": 'broke, "here"\n',
            "cells": (),
            "proof": None,
        }
        store.append_launch(RUN, launch(3, "tree", 0.0, **failed), {})
        store.finish(RUN, "complete")
        store.save_document(RUN, "verdict", verdict().model_dump_json())
    return file
