"""One guest under QEMU's software emulation: started, waited for, ended with whoever started it.

Never /dev/kvm: the argv names the accelerator and no other. The kernel sends QEMU a SIGKILL when the process that
started it ends, however it ends. What a guest is called and what it runs is `seed`'s business.
"""

from __future__ import annotations

import functools
import os
import subprocess
import time
from pathlib import Path

from fabricdoc.lab.kernel import die_with_parent
from tests.labs.qmp import Monitor
from tests.labs.seed import PORTS, Machine

READY = "LABREADY"
MEMORY_MB = 768
RAILS = ("f0", "f1")
QEMU = "qemu-system-x86_64"
CHEAP = "mitigations=off norandmaps init_on_alloc=0 apparmor=0 cryptomgr.notests"
"""What the guest's kernel leaves out that only costs here.

At random addresses QEMU translates a program anew at each start: with `norandmaps` it translated 2.7 times less, and an
empty program over ssh took half the processor time.
"""


def port_path(folder: Path, machine: Machine, rail: str) -> Path:
    """The socket that a guest's port is bound to."""
    return folder / f"{machine.name}-{rail}"


def qemu_words(folder: Path, image: Path, machine: Machine, seed: Path) -> list[str]:
    """The command line of one guest; its rails lead to the patch panel's socket in the same folder.

    Each rail's NIC sits behind a PCIe root port of its own, so that it has a link, as a real one has.
    """
    words = [QEMU, "-accel", "tcg,thread=single", "-M", "q35", "-cpu", "max", "-smp", "1", "-m", str(MEMORY_MB)]
    words += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-name", machine.name]
    words += ["-kernel", str(image / "vmlinux"), "-initrd", str(image / "initrd")]
    words += ["-append", f"console=ttyS0 quiet panic=-1 net.ifnames=0 {CHEAP}"]
    words += ["-serial", f"file:{folder / machine.name}.console"]
    words += ["-qmp", f"unix:{folder / machine.name}.qmp,server=on,wait=off"]
    for disk, path in (("image", image / "root.sqfs"), ("seed", seed)):
        words += ["-drive", f"if=none,id={disk},file={path},format=raw,readonly=on,file.locking=off"]
        words += ["-device", f"virtio-blk-pci,drive={disk}"]
    forward = f"hostfwd=tcp:127.0.0.1:0-10.0.2.1{machine.number}:22"
    words += ["-netdev", f"user,id=mgmt,restrict=on,ipv6=off,{forward}"]
    words += ["-device", f"virtio-net-pci,netdev=mgmt,mac={machine.mac}:00,romfile="]
    for at, rail in enumerate(RAILS, start=1):
        local, remote = port_path(folder, machine, rail), folder / "panel"
        ends = f"local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"
        words += ["-netdev", f"dgram,id={rail},{ends}"]
        nic = f"virtio-net-pci,netdev={rail},bus=root{at},mac={machine.mac}:{at:02},speed=25000,duplex=full,romfile="
        words += ["-device", f"pcie-root-port,id=root{at},chassis={at},slot={at}", "-device", nic]
    return [*words, "-device", "virtio-rng-pci"]


class Vm:
    """A running guest. `set_link` pulls and plugs the cable of one of PORTS."""

    def __init__(self, folder: Path, image: Path, machine: Machine, seed: Path) -> None:
        self.machine = machine
        self._console = folder / f"{machine.name}.console"
        self._log = folder / f"{machine.name}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                qemu_words(folder, image, machine, seed),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=functools.partial(die_with_parent, os.getpid()),
                start_new_session=True,
            )
        try:
            self.monitor = Monitor(folder / f"{machine.name}.qmp")
        except BaseException:
            self.end()
            raise

    def wait_ready(self, end: float) -> None:
        """Until the guest says it can be asked; `end` is a time.monotonic(). AssertionError with what it said."""
        while READY not in (said := self._said(self._console)):
            assert self.process.poll() is None, f"QEMU ended: {self._said(self._log)}"
            assert time.monotonic() < end, f"{self.machine.name} did not get ready; its console: {said[-2000:]}"
            time.sleep(0.1)

    def set_link(self, port: str, up: bool) -> None:
        """Plug (`up`) or pull the cable of one of PORTS, at this end."""
        self.monitor.set_link(RAILS[PORTS.index(port)], up)

    def cpu_s(self) -> float:
        """Processor seconds that it took so far, as this machine counts: a guest counts what others took as its own."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Kill it and reap it."""
        self.process.kill()
        self.process.wait(10)

    @staticmethod
    def _said(path: Path) -> str:
        return path.read_text(errors="replace") if path.exists() else ""
