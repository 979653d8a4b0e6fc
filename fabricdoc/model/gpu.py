"""GPUs as NVML and the CUDA driver see them, and who uses them."""

from fabricdoc.model.documents import NOT_READ, Fact, Frozen


class Tenant(Frozen):
    """A process that uses a GPU. `container` is its container's id or name, null outside one; memory in bytes."""

    pid: int
    name: Fact[str] = NOT_READ
    container: str | None = None
    memory_bytes: Fact[int] = NOT_READ


class Gpu(Frozen):
    """A GPU as NVML sees it. `memory_bytes` is unknown on unified-memory parts (GB10), which is a fact.

    Clocks of the SMs in MHz: now, the highest the part can do, and the cap somebody set (`sm_clock_cap_mhz`: an
    applications clock; a lock of `nvidia-smi -lgc` can't be read back). Power in W, temperature in degrees Celsius,
    utilisation in percent. `integrated` is a part that shares the host's memory. `gpudirect_rdma` and `dma_buf` are the
    CUDA attributes 116 and 124.
    `nvlinks` counts the NVLink links that are up (0 for a part without).
    """

    index: int
    name: Fact[str]
    uuid: Fact[str]
    pci: Fact[str]
    compute_capability: Fact[str]
    memory_bytes: Fact[int]
    processes: Fact[tuple[int, ...]]
    tenants: Fact[tuple[Tenant, ...]] = NOT_READ
    sm_clock_mhz: Fact[int] = NOT_READ
    sm_clock_max_mhz: Fact[int] = NOT_READ
    sm_clock_cap_mhz: Fact[int] = NOT_READ
    power_w: Fact[float] = NOT_READ
    temperature_c: Fact[int] = NOT_READ
    utilization_percent: Fact[int] = NOT_READ
    throttle_reasons: Fact[tuple[str, ...]] = NOT_READ
    integrated: Fact[bool] = NOT_READ
    c2c: Fact[bool] = NOT_READ
    nvlinks: Fact[int] = NOT_READ
    gpudirect_rdma: Fact[bool] = NOT_READ
    dma_buf: Fact[bool] = NOT_READ
