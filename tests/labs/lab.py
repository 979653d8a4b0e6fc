"""The RoCE lab: two guests, their patch panel, and what they look like through fabricdoc. One boot, many faults."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fabricdoc.fabric import map_cables, scan
from fabricdoc.fabric.cables import BEACONS_ALONE, Evidence
from fabricdoc.fabric.rdma_ping import proven_by_rdma
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.transport import NodeSpec
from tests.labs.guest import Guest
from tests.labs.image import image
from tests.labs.panel import Panel, cable
from tests.labs.seed import ALPHA, BETA, MACHINES, write_keys, write_seed, write_ssh_config
from tests.labs.vm import QEMU, RAILS, Vm, port_path

BOOT_LIMIT_S = 300.0
SCAN_LIMIT_S = 400.0
TRIES = 2
LATE = "no answer within"
BY_RDMA = BEACONS_ALONE._replace(proofs=(proven_by_rdma,))
TOOLS = (QEMU, "mmdebstrap", "mksquashfs", "ssh", "ssh-keygen")
CROSSED = (cable("alpha-f0", "beta-f1"), cable("alpha-f1", "beta-f0"))
STRAIGHT = (cable("alpha-f0", "beta-f0"), cable("alpha-f1", "beta-f1"))


def missing_tools() -> list[str]:
    """The programs the lab needs and this machine lacks."""
    return [name for name in TOOLS if shutil.which(name) is None]


class RoceLab:
    """The running lab; ports of the panel are called alpha-f0, alpha-f1, beta-f0, beta-f1."""

    def __init__(self, panel: Panel, vms: dict[str, Vm], guests: dict[str, Guest]) -> None:
        self.panel = panel
        self.vms = vms
        self.alpha, self.beta = guests["alpha"], guests["beta"]
        self._pulled: list[tuple[str, str]] = []
        self._healthy: Fabric | None = None
        self._linked: Fabric | None = None

    @property
    def guests(self) -> tuple[Guest, Guest]:
        """Both, in the order of the documents."""
        return self.alpha, self.beta

    @property
    def specs(self) -> list[NodeSpec]:
        """Both as nodes, with what tests made of their pythons and variables."""
        return [one.spec for one in self.guests]

    def scan(self, watch_s: float = 0.0) -> Fabric:
        """What `fabricdoc scan` sees on both nodes, over ssh.

        The probe waits for a driver in proportion to the whole limit, which is long for an emulated processor. A scan
        that holds a late answer all the same is made once more.
        """
        for _ in range(TRIES):
            fabric = scan(self.specs, deadline_s=SCAN_LIMIT_S, watch_s=watch_s)
            if LATE not in fabric.model_dump_json():
                break
        return fabric

    def healthy(self) -> Fabric:
        """A scan of the guests as they should be, made once: each restore leads back to it."""
        if self._healthy is None:
            assert not self._touched, "the lab is not healthy now"
            self._healthy = self.scan()
        return self._healthy

    def linked(self) -> Fabric:
        """What beacons alone prove of the guests as they should be, made once."""
        if self._linked is None:
            assert not self._touched, "the lab is not healthy now"
            self._linked = self.cables(self.healthy())
        return self._linked

    def cables(self, fabric: Fabric | None = None, evidence: Evidence = BEACONS_ALONE) -> Fabric:
        """What `fabricdoc cables` proves by beacons, or by more `evidence`; `fabric` is a scan that saw enough already.

        Each kind of evidence starts a python in both guests, which takes seconds under emulation. No guest knows how
        the panel is wired, so that other cables take no new scan.
        """
        return map_cables(self.specs, fabric or self.scan(), evidence=evidence)

    def by_rdma(self, fabric: Fabric) -> Fabric:
        """What the RDMA ping alone makes of the links of a fabric; no beacons."""
        return proven_by_rdma(self.specs, fabric, lambda _text: None)

    def by_subnet(self, fabric: Fabric) -> Fabric:
        """The same where no link is proven: between ports whose addresses share a subnet."""
        unproven = Unknown(unknown="no beacons in this test")
        return self.by_rdma(fabric.model_copy(update={"links": unproven, "findings": ()}))

    @property
    def _touched(self) -> bool:
        return bool(self._pulled) or any(one.changed for one in self.guests)

    def pull(self, name: str, port: str) -> None:
        """Pull the cable at a guest's end of it."""
        self._pulled.append((name, port))
        self.vms[name].set_link(port, False)

    def plug(self, name: str, port: str) -> None:
        """Put the cable back in."""
        self._pulled.remove((name, port))
        self.vms[name].set_link(port, True)

    def restore(self) -> None:
        """Cables as they should be, what was changed in the guests undone, what wrong cables taught them forgotten.

        Both guests at once, each by one command.
        """
        rewired = self.panel.wire(*CROSSED)
        for name, port in tuple(self._pulled):
            self.plug(name, port)
        changed = [one for one in self.guests if one.changed or rewired]
        with ThreadPoolExecutor(len(self.guests)) as pool:
            list(pool.map(_as_it_was, changed))


def _as_it_was(guest: Guest) -> None:
    if guest.changed:
        guest.restore()
    else:
        guest.ask("ip neigh flush all")


@contextmanager
def open_roce_lab() -> Iterator[RoceLab]:
    """Boot both guests (building their image where it is absent) and end them at the end."""
    files = image()
    with ExitStack() as stack:
        # short: a unix socket's path holds 107 bytes
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="roce-")))
        write_keys(folder)
        paths = {f"{one.name}-{rail}": port_path(folder, one, rail) for one in MACHINES for rail in RAILS}
        panel = Panel(folder / "panel", paths)
        stack.callback(panel.close)
        panel.wire(*CROSSED)
        vms: dict[str, Vm] = {}
        for machine in MACHINES:
            vms[machine.name] = Vm(folder, files, machine, write_seed(folder, machine))
            stack.callback(vms[machine.name].end)
        end = time.monotonic() + BOOT_LIMIT_S
        for vm in vms.values():
            vm.wait_ready(end)
        config = write_ssh_config(folder, {name: vm.monitor.ssh_port() for name, vm in vms.items()})
        guests = {one.name: Guest(one, folder, config) for one in (ALPHA, BETA)}
        for guest in guests.values():
            stack.callback(guest.hang_up)
        yield RoceLab(panel, vms, guests)
