"""The host and container a process of ours sees: system, limits, libraries, settings, kernel log."""

from fabricdoc.model.documents import NOT_READ, Fact, Frozen


class Library(Frozen):
    """A shared library as a process started here would load it; `sha256` of the file, `version` as it says itself."""

    path: str
    version: Fact[str] = NOT_READ
    sha256: Fact[str] = NOT_READ


class ConfFile(Frozen):
    """An nccl.conf with its variables (those on the allow-list)."""

    path: str
    values: dict[str, str] = {}


class KernelEvent(Frozen):
    """A signature found in the kernel log: its id, how often since boot, the last line (secrets can't be in these)."""

    id: str
    count: int
    last: str


class DeviceFile(Frozen):
    """A file of /dev/infiniband; `access` is `ok` where a process here may open it, else the error's name (EPERM)."""

    name: str
    access: str


class Host(Frozen):
    """The operating system as a process started here sees it. Memory and limits in bytes (-1 = unlimited).

    `torch` is the version this node's python would import (read from package metadata, never imported). `iommu` is off,
    passthrough or translated. `modules` are the loaded ones that matter here (nvidia_peermem, ib_core, ...).
    `ibverbs_providers` are the driver libraries beside libibverbs. `firewall` names what filters packets ("nftables: 12
    rules"), or none. `hotplug_armed`: DGX Spark's ConnectX-7 hot-plug handler may power the card off. `clock` is the
    node's time (Unix seconds) when asked. `host_network`: whether this process is in the first network namespace.
    `uverbs` are the device files of HCAs, each with whether it can be opened.
    """

    hostname: Fact[str]
    kernel: Fact[str]
    os: Fact[str]
    arch: Fact[str]
    cpus: Fact[int]
    python: Fact[str]
    machine_id: Fact[str]
    boot_id: Fact[str]
    memory_total: Fact[int]
    memory_available: Fact[int]
    memlock: Fact[int]
    shm_bytes: Fact[int]
    nvidia_driver: Fact[str]
    infiniband_devices: Fact[tuple[str, ...]]
    libibverbs: Fact[str]
    torch: Fact[str]
    environment: dict[str, str] = {}
    product: Fact[str] = NOT_READ
    bios: Fact[str] = NOT_READ
    governor: Fact[str] = NOT_READ
    iommu: Fact[str] = NOT_READ
    modules: Fact[tuple[str, ...]] = NOT_READ
    ibverbs_providers: Fact[tuple[str, ...]] = NOT_READ
    libnccl: Fact[tuple[Library, ...]] = NOT_READ
    nccl_plugins: Fact[tuple[Library, ...]] = NOT_READ
    nccl_conf: Fact[tuple[ConfFile, ...]] = NOT_READ
    firewall: Fact[str] = NOT_READ
    ip_forward: Fact[bool] = NOT_READ
    hotplug_armed: Fact[bool] = NOT_READ
    uptime_s: Fact[float] = NOT_READ
    clock: Fact[float] = NOT_READ
    kernel_log: Fact[tuple[KernelEvent, ...]] = NOT_READ
    host_network: Fact[bool] = NOT_READ
    uverbs: Fact[tuple[DeviceFile, ...]] = NOT_READ


class ServerImage(Frozen):
    """What a server started from a node's image would find inside it, as a process there sees it (fields of `Host`).

    `id` is the image's on that node, 64 hexadecimal digits.
    """

    name: str
    id: Fact[str] = NOT_READ
    os: Fact[str] = NOT_READ
    python: Fact[str] = NOT_READ
    torch: Fact[str] = NOT_READ
    libibverbs: Fact[str] = NOT_READ
    ibverbs_providers: Fact[tuple[str, ...]] = NOT_READ
    libnccl: Fact[tuple[Library, ...]] = NOT_READ
    nccl_plugins: Fact[tuple[Library, ...]] = NOT_READ
    nccl_conf: Fact[tuple[ConfFile, ...]] = NOT_READ
    environment: dict[str, str] = {}


class Container(Frozen):
    """Whether this is inside a container: `kind` is docker, podman, kubernetes, slurm, lxc or none."""

    kind: Fact[str]
    evidence: str = ""
