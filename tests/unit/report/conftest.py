"""Documents of every kind, a screen without a terminal, and what hostile data looks like."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import (
    Address,
    Container,
    Endpoint,
    Fabric,
    FailedNode,
    Gid,
    Gpu,
    Hca,
    Host,
    Link,
    LinkProof,
    Netdev,
    Node,
    Port,
)
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import Gate, GateCheck
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, PortPrint, Preset
from fabricdoc.model.profile import Collective, Profile, Stage, Totals
from fabricdoc.model.run import (
    Candidate,
    Cell,
    Estimate,
    Launch,
    NodeContext,
    Plan,
    Proof,
    Rank,
    Run,
    Shape,
)
from fabricdoc.model.verdict import CandidateVerdict, CellVerdict, Interval, Verdict
from fabricdoc.report import Screen

M = TypeVar("M", bound=BaseModel)
NO = Unknown(unknown="no such file")
AT = "2026-01-01T00:00:00Z"
HOSTILE = "x\x1b[31mred\x07\r\n\u202egnp\x9b2J[bold]y"
LONG = "spark-0123456789abcdefghijklmnopqrstuvwxyz-rack-17-the-last"


def make_port(name: str, ip: str, *, kind: str | None = None, up: bool = True) -> Netdev:
    return Netdev(
        name=name,
        ifindex=2,
        mac="02:00:00:00:00:01",
        mtu=9000,
        carrier=up,
        operstate="up" if up else "down",
        speed_mbps=200000 if up else Unknown(unknown="Invalid argument"),
        carrier_changes=1,
        driver="mlx5_core",
        pci="0000:01:00.0",
        phys_port_name="p0",
        kind=kind,
        addresses=(Address(ip=ip, prefix=24, family="ipv4"),) if ip else (),
    )


def make_hca(name: str, netdev: str, ip: str) -> Hca:
    gids = (
        Gid(index=0, gid="fe80::1", type="IB/RoCE v1", netdev=netdev, link_local=True),
        Gid(index=1, gid="fe80::1", type="RoCE v2", netdev=netdev, link_local=True),
        Gid(index=3, gid=f"::ffff:{ip}", type="RoCE v2", netdev=netdev, ipv4=ip),
    )
    port = Port(
        number=1,
        state="ACTIVE",
        phys_state="LinkUp",
        rate_gbps=200.0,
        link_layer="Ethernet",
        active_mtu=4096,
        netdev=netdev,
        gids=gids,
    )
    return Hca(
        name=name,
        driver="mlx5_core",
        firmware="28.45.4028",
        node_guid=NO,
        sys_image_guid=NO,
        board_id=NO,
        pci="0000:01:00.0",
        ports=(port,),
    )


def make_node(name: str, ports: tuple[Netdev, ...], hcas: tuple[Hca, ...], target: str = "netns:4711") -> Node:
    facts: dict[str, Any] = {field: NO for field in Host.model_fields if field != "environment"}
    facts |= {"os": "Ubuntu 24.04.1 LTS", "kernel": "6.11.0-1016-nvidia", "arch": "aarch64", "python": "3.12.3"}
    gpu = Gpu(
        index=0,
        name="NVIDIA GB10",
        uuid="GPU-1",
        pci=NO,
        compute_capability="12.1",
        memory_bytes=Unknown(unknown="unified memory"),
        processes=(),
    )
    return Node(
        name=name,
        target=target,
        hcas=hcas,
        netdevs=(*ports, make_port("lo", "127.0.0.1"), make_port("docker0", "172.17.0.1", kind="bridge")),
        routes=(),
        gpus=(gpu,),
        host=Host(**facts),
        container=Container(kind="none"),
    )


def make_link(a: tuple[str, str], b: tuple[str, str], kind: Any = "cable", back: int = 3) -> Link:
    proof = LinkProof(method="beacon", at=AT, frames_a_to_b=3, frames_b_to_a=back)
    ends = [Endpoint(node=node, netdev=netdev, mac="02:00:00:00:00:01", hca="rocep1s0f0") for node, netdev in (a, b)]
    return Link(a=ends[0], b=ends[1], kind=kind, proof=proof)


FINDINGS = (
    Finding(
        id="mtu-mismatch",
        severity="warning",
        subject="alpha/enp1s0f0np0",
        evidence=(Evidence(file="alpha", text="mtu 9000"), Evidence(file="nccl.log", line=12, text="WARN x")),
        cause="The MTU differs between the two ends of this cable",
        fix=("on beta:", "sudo ip link set dev enp1s0f1np1 mtu 9000"),
        confidence="likely",
    ),
    Finding(
        id="port-no-carrier",
        severity="error",
        subject="beta/enp1s0f0np0",
        cause="No cable on beta/enp1s0f0np0",
        fix=("plug the cable in",),
    ),
)


def make_fabric(alpha: str = "alpha", beta: str = "beta", first: str = "enp1s0f0np0") -> Fabric:
    ports = (make_port(first, "10.77.0.1"), make_port("enp1s0f1np1", "10.77.1.1", up=False))
    hcas = (make_hca("rocep1s0f0", first, "10.77.0.1"),)
    nodes = (make_node(alpha, ports, hcas), make_node(beta, ports, ()))
    links = (
        make_link((alpha, first), (beta, "enp1s0f1np1")),
        make_link((alpha, "enp1s0f1np1"), (beta, first), "one-way", 0),
    )
    failed = (FailedNode(name="gamma", target="user@gamma", id="ssh", message="refused", fix="start sshd there"),)
    return Fabric(nodes=nodes, links=links, findings=FINDINGS, failed=failed, created=AT)


def make_plan(names: tuple[str, ...] = ("base", "tree")) -> Plan:
    roles: dict[str, Any] = {"base": "base"}
    return Plan(
        backend="nccl",
        ranks=(Rank(rank=0, node="alpha", local_rank=0), Rank(rank=1, node="beta", local_rank=0)),
        candidates=tuple(Candidate(name=name, role=roles.get(name, "candidate")) for name in names),
        shapes=(
            Shape(op="all_reduce", size=8),
            Shape(op="all_reduce", size=20480, phase="decode", count=128),
            Shape(op="all_gather", size=65536, phase="decode", count=1),
        ),
        views=("graph", "eager"),
        blocks=6,
        seed=7,
        launch_deadline_s=60,
        profile="dense-small-tp2",
        objective="decode",
        estimate=Estimate(launches=33, seconds=200, bytes_per_link=1 << 30, memory_per_node=3584 << 20),
    )


def make_launch(number: int, candidate: str, median: float, **fields: Any) -> Launch:
    cell = Cell(
        view="graph",
        op="all_reduce",
        size=20480,
        dtype="bfloat16",
        calls=50,
        median_us=median,
        p95_us=median * 1.1,
        p99_us=median * 1.2,
        max_us=median * 1.3,
        correct=True,
    )
    proof = Proof(grade="seen", version="2.28.9", network="IB", gpu_direct=False)
    values: dict[str, Any] = {
        "number": number,
        "round": "search",
        "block": number // 2 + 1,
        "position": 0,
        "candidate": candidate,
        "status": "ok",
        "seconds": 4.0,
        "started": AT,
        "cells": (cell,),
        "proof": proof,
    }
    return Launch(**(values | fields))


def make_run(names: tuple[str, ...] = ("base", "tree")) -> Run:
    launches = [make_launch(1, names[0], 40.0), make_launch(2, names[1], 30.0), make_launch(3, names[0], 42.0)]
    launches.append(
        make_launch(
            4,
            names[1],
            0.0,
            status="timeout",
            phase="connect",
            rank=1,
            reason="no word from rank 1 for 60 s",
            cells=(),
            proof=None,
            log_tail=("one", "two", "three", "NCCL WARN four"),
        )
    )
    context = NodeContext(
        name="alpha", target="alpha", hostname="a", kernel="6", torch="2", nccl="2.28", nvidia_driver=NO
    )
    return Run(
        id="20260101-000000-ab12", status="complete", plan=make_plan(names), nodes=(context,), launches=tuple(launches)
    )


def make_cell_verdict(size: int, phase: str, ratio: float, verdict: Any) -> CellVerdict:
    return CellVerdict(
        view="graph",
        op="all_reduce",
        size=size,
        phase=phase,
        base_us=1234.5,
        candidate_us=1234.5 / ratio,
        interval=Interval(ratio=ratio, low=ratio - 0.03, high=ratio + 0.03, blocks=6),
        floor=0.02,
        verdict=verdict,
    )


def make_verdict(name: str = "tree") -> Verdict:
    cells = (
        make_cell_verdict(1 << 20, "prefill", 0.93, "worse"),
        make_cell_verdict(20480, "decode", 1.21, "better"),
        make_cell_verdict(8, "grid", 1.0, "same"),
    )
    tree = CandidateVerdict(
        name=name,
        verdict="better",
        reason="18 % faster",
        score=Interval(ratio=1.18, low=1.15, high=1.21, blocks=6),
        confirmed=True,
        cells=cells,
        proof="seen",
    )
    failed = CandidateVerdict(name="default", verdict="failed", reason="Rank 1 chose sockets.")
    return Verdict(
        run="20260101-000000-ab12",
        objective="decode",
        profile="dense-small-tp2",
        backend="nccl",
        choice=name,
        reason=f"Use {name}: 18 % faster in decode; again in fresh blocks.",
        conclusive=True,
        blocks=6,
        floor=0.021,
        smallest_effect=0.034,
        candidates=(tree, failed),
        trade=("tree costs prefill: 7 % slower.",),
    )


def make_preset(alpha: str = "alpha") -> Preset:
    def lines(hca: str) -> tuple[Line, ...]:
        return (
            Line(name="NCCL_IB_HCA", value=hca, kind="placed", evidence="seen in the log of every launch"),
            Line(name="NCCL_ALGO", value="ring;allreduce:tree", kind="measured", evidence="1.18 [1.15, 1.21]"),
        )

    port = PortPrint(netdev="enp1s0f0np0", hca="rocep1s0f0", mac="02:00:00:00:00:01", mtu=9000, speed_mbps=200000)
    printed = NodePrint(name=alpha, hostname="a", kernel="6", torch="2", nccl="2", nvidia_driver="5", ports=(port,))
    return Preset(
        name="pair-tree",
        run="20260101-000000-ab12",
        backend="nccl",
        objective="decode",
        profile="dense-small-tp2",
        choice="tree",
        reason="Use tree: 18 % faster.",
        exercised="two namespaces sharing one GPU",
        not_exercised=("RoCE hardware under NCCL",),
        nodes=(
            NodePreset(name=alpha, target="a", lines=lines("=rocep1s0f0")),
            NodePreset(name="beta", target="b", lines=lines("=rocep1s0f1")),
        ),
        fingerprint=Fingerprint(nodes=(printed,)),
    )


def make_gate(node: str = "alpha") -> Gate:
    finding = Finding(
        id="gate-mtu-changed",
        severity="error",
        subject=f"{node}/enp1s0f0np0",
        cause=f"the mtu is not the one measured: {node}/enp1s0f0np0 had 9000, has 1500",
        fix=(f"on {node}:", "sudo ip link set dev enp1s0f0np0 mtu 9000"),
    )
    checks = (
        GateCheck(id="node", node=node, expected="answers", found="answers", outcome="ok"),
        GateCheck(
            id="mtu",
            node=node,
            port="enp1s0f0np0",
            expected="9000",
            found="1500",
            outcome="differs",
            fix=finding.fix,
            who="administrator",
        ),
        GateCheck(
            id="torch",
            node=node,
            expected="2.13.0",
            found="unknown: no torch",
            outcome="unknown",
            note="can't be read now",
        ),
    )
    return Gate(
        preset="pair-tree",
        nodes=(node,),
        answer="no-go",
        reason=finding.cause,
        checks=checks,
        findings=(finding,),
        seconds=0.6,
    )


def make_profile(name: str = "dense-small-tp2") -> Profile:
    one = Collective(role="attention output", op="all_reduce", count=64, size=20480, send_bytes=20480)
    totals = Totals(collectives=64, all_reduce=64, all_gather=0, all_reduce_bytes=64 * 20480, all_gather_bytes=0)
    stage = Stage(rows=1, collectives=(one,), totals=totals)
    return Profile(
        name=name, summary="a dense model over two nodes", source="derived from its config", decode=stage, prefill=stage
    )


def with_every_text(model: M, text: str, skip: frozenset[str]) -> M:
    """The model with every free text replaced; fields in `skip` (and literals) keep what they are."""

    def walk(value: Any, annotation: str) -> Any:
        if isinstance(value, BaseModel):
            changed = {
                name: walk(getattr(value, name), str(field.annotation))
                for name, field in type(value).model_fields.items()
                if name not in skip
            }
            return value.model_copy(update=changed)
        if isinstance(value, tuple):
            return tuple(walk(item, annotation) for item in value)
        if isinstance(value, dict):
            return {text: text} if value else {}
        return text if isinstance(value, str) and "Literal" not in annotation else value

    changed: M = walk(model, "")
    return changed


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Recorder:
    """A screen over memory, and what it said."""

    def __init__(self, env: Mapping[str, str], *, terminal: bool, as_json: bool, now: Callable[[], float]) -> None:
        kind = Terminal if terminal else io.StringIO
        self.stdout, self.stderr = kind(), kind()
        self.screen = Screen(self.stdout, self.stderr, env, as_json=as_json, now=now)

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()


@pytest.fixture
def record() -> Callable[..., Recorder]:
    def make(
        env: Mapping[str, str] | None = None,
        *,
        terminal: bool = False,
        as_json: bool = False,
        now: Callable[[], float] = lambda: 0.0,
    ) -> Recorder:
        return Recorder(env or {}, terminal=terminal, as_json=as_json, now=now)

    return make


class Samples:
    """Builders of every kind of document, so that test modules need no import of this file."""

    fabric = staticmethod(make_fabric)
    node = staticmethod(make_node)
    port = staticmethod(make_port)
    hca = staticmethod(make_hca)
    link = staticmethod(make_link)
    plan = staticmethod(make_plan)
    launch = staticmethod(make_launch)
    run = staticmethod(make_run)
    verdict = staticmethod(make_verdict)
    cell = staticmethod(make_cell_verdict)
    preset = staticmethod(make_preset)
    gate = staticmethod(make_gate)
    profile = staticmethod(make_profile)
    findings = FINDINGS
    hostile = HOSTILE
    long = LONG
    with_every_text = staticmethod(with_every_text)

    def all(self) -> list[Any]:
        return [make_fabric(), make_run(), make_verdict(), make_preset(), make_gate(), make_profile()]

    def all_long(self) -> list[Any]:
        long = LONG
        return [
            make_fabric(long, long + "-b", "enp1s0f0np0v0123456789"),
            make_run((long, long + "-b")),
            make_verdict(long),
            make_preset(long),
            make_gate(long),
            make_profile(long),
        ]


@pytest.fixture
def samples() -> Samples:
    return Samples()


@pytest.fixture
def shown() -> Callable[..., str]:
    """What renderables look like without colour, at a width."""

    def show(parts: Sequence[Any], width: int = 80) -> str:
        from rich.console import Console

        stream = io.StringIO()
        console = Console(file=stream, width=width, color_system=None, force_terminal=False, markup=False, emoji=False)
        for part in parts:
            console.print(part, crop=False)
        return "".join(f"{row.rstrip()}\n" for row in stream.getvalue().splitlines())

    return show
