"""What tests of the gate's deeper levels are made of: a Spark pair's preset, and launches of it with real NCCL logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Fingerprint, Latency, Line, NodePreset, NodePrint, PortPrint, Preset
from fabricdoc.model.run import Cell, Launch, Proof
from fabricdoc.nccl import merge_proofs, read_proof

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
TWINS = "=rocep1s0f0,roceP2p1s0f0"
IB = {"NCCL_NET": "IB", "NCCL_IB_HCA": TWINS, "NCCL_SOCKET_IFNAME": "=enp1s0f0np0"}
NO = Unknown(unknown="not looked at")


def latency(size: int, low: float = 30.0, high: float = 40.0, view: str = "eager") -> Latency:
    middle = (low + high) / 2
    return Latency.model_validate(
        {"view": view, "op": "all_reduce", "size": size, "dtype": "bfloat16", "launches": 6}
        | {"low_us": low, "median_us": middle, "high_us": high}
    )


def preset(
    values: dict[str, dict[str, str]] | None = None, *, backend: str = "nccl", latencies: tuple[Latency, ...] = ()
) -> Preset:
    """A preset of the named nodes (spark-a and spark-b), with the addresses of the recorded pair."""
    values = values or {"spark-a": IB, "spark-b": IB}
    nodes = tuple(
        NodePreset(
            name=name,
            target=name,
            lines=tuple(Line(name=key, value=value, kind="placed", evidence="") for key, value in mine.items()),
        )
        for name, mine in values.items()
    )
    port = PortPrint(netdev="p0", hca=None, mac=NO, mtu=NO, speed_mbps=NO, addresses=("fe80::1/64", "10.9.9.1/24"))
    prints = tuple(
        NodePrint(name=name, hostname=NO, kernel=NO, torch=NO, nccl=NO, nvidia_driver=NO, ports=(port,))
        for name in values
    )
    return Preset.model_validate(
        {
            "name": "pair",
            "run": "r1",
            "backend": backend,
            "objective": "decode",
            "profile": "tiny",
            "choice": "base",
            "reason": "",
            "exercised": "",
            "nodes": nodes,
            "fingerprint": Fingerprint(nodes=prints),
            "latencies": latencies,
        }
    )


def proof(*names: str) -> Proof:
    """What these logs prove, one a rank."""
    return merge_proofs([read_proof((LOGS / name).read_text(), rank) for rank, name in enumerate(names)])


def cell(size: int, median: float, view: str = "eager", op: str = "all_reduce", **more: Any) -> Cell:
    times = {"median_us": median, "p95_us": median, "p99_us": median, "max_us": median}
    fields = {"view": view, "op": op, "size": size, "dtype": "bfloat16", "calls": 40, "correct": True}
    return Cell.model_validate(fields | times | more)


def launch(*cells: Cell, status: str = "ok", proven: Proof | None = None, **more: Any) -> Launch:
    fields = {"number": 1, "round": "search", "block": 1, "position": 0, "candidate": "preset", "seconds": 1.0}
    return Launch.model_validate(
        fields | {"status": status, "started": "2026-01-01T00:00:00Z", "cells": cells, "proof": proven} | more
    )
