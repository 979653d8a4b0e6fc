"""The preset document: the variables each node needs, with evidence and the fingerprint they hold for."""

from __future__ import annotations

from typing import ClassVar, Literal

from fabricdoc.model.documents import NOT_READ, Document, Fact, Frozen
from fabricdoc.model.run import Dtype, Op, View
from fabricdoc.model.verdict import Interval


class Line(Frozen):
    """One variable: placed (needed for this fabric, from proof), measured (pays for itself) or diagnostic (for the
    first launch alone).

    `effect` is the ratio that a measured line, or the set it is of, was confirmed with, over `launches` launches; null
    and 0 where nothing was measured.
    """

    name: str
    value: str
    kind: Literal["placed", "measured", "diagnostic"]
    evidence: str
    effect: Interval | None = None
    launches: int = 0


class NodePreset(Frozen):
    """The variables of one node, in the order they are written, and the python it was measured with.

    `inherited` are NCCL's variables that were in the environment there while it was measured (an image's ENV) and are
    no lines: the measurement holds with them, and nobody writes them.
    """

    name: str
    target: str
    python: str = "python3"
    lines: tuple[Line, ...] = ()
    inherited: dict[str, str] = {}


class PortPrint(Frozen):
    """What must still be true of one port of the selectors; `gid`, `firmware` and `pcie` are of its HCA (`prints`)."""

    netdev: str
    hca: str | None
    mac: Fact[str]
    mtu: Fact[int]
    speed_mbps: Fact[int]
    addresses: tuple[str, ...] = ()
    peer: str = ""
    gid: Fact[str] = NOT_READ
    firmware: Fact[str] = NOT_READ
    pcie: Fact[str] = NOT_READ


class NodePrint(Frozen):
    """What must still be true of one node; `peer` of a port is "node/netdev" as the cable map proved.

    `image` is the id of the image that was measured in, where there was one. `nccl_sha256` is of the library's file,
    where the scan hashed one of that version (`bench` has it hashed, and the gate's smoke and full levels do).
    """

    name: str
    hostname: Fact[str]
    kernel: Fact[str]
    torch: Fact[str]
    nccl: Fact[str]
    nvidia_driver: Fact[str]
    gpus: tuple[str, ...] = ()
    ports: tuple[PortPrint, ...] = ()
    image: Fact[str] = NOT_READ
    nccl_sha256: Fact[str] = NOT_READ


class Fingerprint(Frozen):
    """What must still be true for a preset to hold."""

    nodes: tuple[NodePrint, ...] = ()


class Latency(Frozen):
    """What one shape took under the preset's variables when they were measured, in microseconds.

    The lowest, the middle and the highest of its launches' medians (a median over calls of the maximum over ranks).
    """

    view: View
    op: Op
    size: int
    dtype: Dtype
    in_place: bool = True
    low_us: float
    median_us: float
    high_us: float
    launches: int


class Preset(Document):
    """The recommended variables; `exercised` says on what they were measured and what was not tried.

    `left_unset` says what is not set on purpose. `expires` is a time (ISO 8601, UTC) after which they are to be
    measured again, "" for none. `latencies` is what the gate holds a new launch against, with as many ranks per node;
    empty where nothing was measured.
    """

    kind: ClassVar[str] = "preset"

    name: str
    run: str
    backend: Literal["gloo", "nccl"]
    objective: str
    profile: str
    choice: str
    reason: str
    exercised: str
    not_exercised: tuple[str, ...] = ()
    left_unset: tuple[str, ...] = ()
    expires: str = ""
    nodes: tuple[NodePreset, ...] = ()
    fingerprint: Fingerprint = Fingerprint()
    ranks_per_node: int = 1
    latencies: tuple[Latency, ...] = ()
