"""PCIe functions of HCAs and GPUs, and the bridges above them."""

from fabricdoc.model.documents import NOT_READ, Fact, Frozen


class PcieFunction(Frozen):
    """One PCI function. Speeds in GT/s per lane, widths in lanes; `numa_node` is -1 where the platform has none.

    `upstream` are the bridges from the root port down to the parent. `acs` says whether ACS redirects peer traffic on
    a bridge (Request or Completion Redirect enabled). `aer` are totals since boot by severity (correctable, nonfatal,
    fatal). `gone` is true where config space reads all ones: the device fell off the bus.
    """

    address: str
    vendor: Fact[str]
    device: Fact[str]
    pci_class: Fact[str]
    driver: Fact[str] = NOT_READ
    current_speed_gts: Fact[float] = NOT_READ
    max_speed_gts: Fact[float] = NOT_READ
    current_width: Fact[int] = NOT_READ
    max_width: Fact[int] = NOT_READ
    numa_node: Fact[int] = NOT_READ
    upstream: tuple[str, ...] = ()
    physical_function: str | None = None
    acs: Fact[bool] = NOT_READ
    aer: dict[str, int] = {}
    gone: bool = False
