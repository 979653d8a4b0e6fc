"""RDMA devices (HCAs), their ports and GID tables."""

from fabricdoc.model.documents import NOT_READ, Fact, Frozen


class Gid(Frozen):
    """One filled slot of a port's GID table."""

    index: int
    gid: str
    type: Fact[str]
    netdev: Fact[str]
    ipv4: str | None = None
    link_local: bool = False


class Port(Frozen):
    """A port of an HCA. `rate_gbps` in Gbit/s, the MTUs in bytes (RDMA path MTU). A dead port still reports a rate."""

    number: int
    state: Fact[str]
    phys_state: Fact[str]
    rate_gbps: Fact[float]
    link_layer: Fact[str]
    active_mtu: Fact[int]
    netdev: Fact[str]
    gids: Fact[tuple[Gid, ...]]
    max_mtu: Fact[int] = NOT_READ
    gid_slots: Fact[int] = NOT_READ


class Hca(Frozen):
    """An RDMA device as the kernel names it.

    `physical_function` is the PCI address of the function a VF belongs to, null for what is no VF. `bond` is the
    netdev of a RoCE LAG that this device stands for, null otherwise. `hca_type` is the vendor's model (MT4129).
    """

    name: str
    driver: Fact[str]
    firmware: Fact[str]
    node_guid: Fact[str]
    sys_image_guid: Fact[str]
    board_id: Fact[str]
    pci: Fact[str]
    ports: tuple[Port, ...] = ()
    hca_type: Fact[str] = NOT_READ
    physical_function: str | None = None
    bond: str | None = None


class Counters(Frozen):
    """Counters of one subject since its driver started, by the kernel's names; those that are 0 are left out.

    `source` is `port` (sysfs counters), `hw` (sysfs hw_counters) or `ethtool` (its statistics); `subject` is
    DEVICE/PORT or a netdev. `deltas` is what they grew by while watched (empty when not watched); `names` counts all
    there are.
    """

    subject: str
    source: str
    values: dict[str, int] = {}
    deltas: dict[str, int] = {}
    names: int = 0
