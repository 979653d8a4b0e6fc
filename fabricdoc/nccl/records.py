"""What typed events are: one small frozen record per kind of line. What a line does not say is None or "".

`typed` makes them from events. No judgement and no log is read here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionSeen:
    """The library's version. `suffix` is a build's own ("" for a release), `cuda` what it was built with."""

    version: str
    suffix: str = ""
    cuda: str = ""


@dataclass(frozen=True, slots=True)
class VariableRead:
    """A variable as NCCL read it. `how`: environment (NCCL's files too), communicator, plugin or filter."""

    name: str
    value: str
    how: str = "environment"


@dataclass(frozen=True, slots=True)
class Device:
    """An HCA, or the members of a fused one, in NCCL's list."""

    index: int
    name: str
    port: int
    link: str
    rail: int | None = None
    plane: int | None = None


@dataclass(frozen=True, slots=True)
class DeviceList:
    """The HCAs NCCL uses after its filter, and the interface it meets its peers on."""

    devices: tuple[Device, ...]
    relaxed_ordering: bool
    interface: str
    address: str


@dataclass(frozen=True, slots=True)
class OutOfBand:
    """The interface of the bootstrap."""

    interface: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin: `state` is loaded or none."""

    kind: str
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph of the topology search: GB/s within and between nodes, path types within and between."""

    pattern: int
    channels: int
    intra_gbps: float
    inter_gbps: float
    intra_type: str
    inter_type: str


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel to a peer. `transport` is NET, P2P or SHM; for NET `network` and `device` (NCCL's index) are set.

    `gpu_direct` is None within a node. `connection` is 0 for collectives, 1 for send and receive.
    """

    number: int
    source: int
    target: int
    transport: str
    network: str = ""
    device: int | None = None
    direction: str = ""
    connection: int = 0
    gpu_direct: bool | None = None
    flags: str = ""


@dataclass(frozen=True, slots=True)
class ChoiceMade:
    """NCCL's choice for one call. `size` in bytes as the line counts; `channels` None where the line has none."""

    function: str
    size: int
    algorithm: str
    protocol: str
    channels: int | None


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion error. Status 5 (flushed) follows another error; `syndrome` is the device's own code."""

    status: int
    status_name: str
    syndrome: int
    syndrome_name: str
    peer: str = ""
    opcode: int | None = None
    queue_pair: int | None = None
    request: str = ""
    hca: str = ""
    local_gid: str = ""
    remote_gid: str = ""


@dataclass(frozen=True, slots=True)
class QueuePairFailure:
    """A queue pair that could not be connected: errno (None where only text is given), states, GIDs, device."""

    errno: int | None
    text: str
    device: str
    port: int
    states: tuple[str, str]
    gid_index: int
    local_gid: str
    remote_gid: str
    retrying: bool


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A verbs or system call that failed."""

    call: str
    text: str
    errno: int | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """A WARN line: where in NCCL's source it comes from and what it says."""

    place: str
    function: str
    message: str


@dataclass(frozen=True, slots=True)
class Timeout:
    """A collective that PyTorch's watchdog gave up (milliseconds), or a peer that NCCL's status service misses."""

    who: str
    operation: str = ""
    sequence: int | None = None
    limit_ms: int | None = None
    ran_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RankSeen:
    """A rank of a communicator, from its init line; `state` is START or COMPLETE, `nodes` 0 where not said."""

    communicator: str
    rank: int
    ranks: int
    state: str = ""
    nodes: int = 0


Typed = (
    VersionSeen | VariableRead | DeviceList | OutOfBand | Plugin | Graph | Channel | ChoiceMade | Completion
    | QueuePairFailure | CallFailure | Warned | Timeout | RankSeen
)  # fmt: skip
