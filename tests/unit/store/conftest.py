"""A small run and its launches, as a bench would store them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import FabricdocError
from fabricdoc.model.run import Candidate, Cell, Estimate, Launch, NodeContext, Plan, Rank, Run, Shape
from fabricdoc.store import SampleKey


def make_run(run_id: str = "run-1") -> Run:
    names = ("alpha", "beta")
    plan = Plan(
        backend="gloo",
        ranks=tuple(Rank(rank=index, node=name, local_rank=0) for index, name in enumerate(names)),
        candidates=(Candidate(name="base", role="base"), Candidate(name="one-rail")),
        shapes=(Shape(op="all_reduce", size=20480),),
        views=("eager",),
        blocks=6,
        seed=1,
        launch_deadline_s=30.0,
        profile="dense-small-tp2",
        objective="mix",
        estimate=Estimate(launches=18, seconds=40.0, bytes_per_link=1, memory_per_node=1),
    )
    nodes = tuple(
        NodeContext(
            name=name, target=name, hostname=name, kernel="6.1", torch="2.13", nccl={"unknown": "gloo"},
            nvidia_driver={"unknown": "no GPU"},
        )
        for name in names
    )  # fmt: skip
    return Run(id=run_id, plan=plan, nodes=nodes)


def make_launch(number: int = 1, **changes: Any) -> Launch:
    cell = Cell(
        view="eager", op="all_reduce", size=20480, dtype="bfloat16", calls=3, median_us=80.5, p95_us=90.0,
        p99_us=91.0, max_us=92.125, correct=True,
    )  # fmt: skip
    fields: dict[str, Any] = {
        "number": number, "round": "search", "block": 0, "position": 0, "candidate": "base", "status": "ok",
        "seconds": 1.5, "started": "2026-11-29T10:00:00Z", "cells": (cell,),
    }  # fmt: skip
    return Launch(**(fields | changes))


def make_samples() -> dict[SampleKey, tuple[float, ...]]:
    return {SampleKey("eager", "all_reduce", 20480, "bfloat16", rank): (80.5, 79.123, 92.125 + rank) for rank in (0, 1)}


def as_nobody(job: Callable[[], object]) -> tuple[str, str, str]:
    """Run `job` in a forked child without root's powers; its error as (type name, message, fix), or ("", "", "")."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            answer = ("", "", "")
            try:
                job()
            except FabricdocError as error:
                answer = (type(error).__name__, error.message, error.fix)
            os.write(writing, pickle.dumps(answer))
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, "the child died of something else"
    answer: tuple[str, str, str] = pickle.loads(data)
    return answer


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that other users may enter, unlike tmp_path when root runs the tests."""
    folder = tmp_path_factory.mktemp("store")
    for level in (folder, *folder.parents):
        if level.name.startswith(("store", "popen-", "pytest-")) and level.stat().st_uid == os.geteuid():
            level.chmod(0o755)
    return folder


@pytest.fixture
def run_of() -> Callable[..., Run]:
    return make_run


@pytest.fixture
def launch_of() -> Callable[..., Launch]:
    return make_launch


@pytest.fixture
def samples() -> dict[SampleKey, tuple[float, ...]]:
    return make_samples()


@pytest.fixture
def nobody() -> Callable[[Callable[[], object]], tuple[str, str, str]]:
    return as_nobody
