"""What one boot gives its guests: names, addresses, ssh keys made for this boot, and the scripts they run.

Written as tar files that become the guests' second disks, plus a configuration for the user's own ssh client. The
healthy fabric is decided here: two rails, each a subnet, cabled crossed.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

INSIDE = Path(__file__).parent / "inside"
SCRIPTS = ("init", "healthy")
PORTS = ("enp1s0f0np0", "enp1s0f1np1")
HCAS = ("rocep1s0f0", "rocep1s0f1")
SSHD_CONFIG = """Port 22
HostKey /lab/host_key
AuthorizedKeysFile /lab/authorized_keys
PidFile none
StrictModes no
UsePAM no
UseDNS no
PermitRootLogin yes
PasswordAuthentication no
MaxStartups 100
"""


@dataclass(frozen=True)
class Machine:
    """A guest: `number` is in its MACs and its management address, `addresses` are those of PORTS in order."""

    name: str
    number: int
    addresses: tuple[str, str]

    @property
    def mac(self) -> str:
        """The first five bytes of its MAC addresses; the sixth is 00 for management, 01 and 02 for PORTS."""
        return f"52:54:00:00:{self.number:02}"


ALPHA = Machine("alpha", 1, ("192.168.11.1", "192.168.12.1"))
BETA = Machine("beta", 2, ("192.168.12.2", "192.168.11.2"))
MACHINES = (ALPHA, BETA)


def write_keys(folder: Path) -> None:
    """Ed25519 keys for the user and for each guest, in `folder`."""
    for name in ("user", *(one.name for one in MACHINES)):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(words, check=True, timeout=20)


def write_seed(folder: Path, machine: Machine) -> Path:
    """The tar file that becomes the guest's second disk."""
    node = (
        f"NAME={machine.name}\nNUMBER={machine.number}\nID={machine.number:02}\n"
        f"MACHINE={machine.number:032x}\nF0={machine.addresses[0]}/24\nF1={machine.addresses[1]}/24\n"
    )
    path = folder / f"{machine.name}.tar"
    with tarfile.open(path, "w") as packed:
        for name in SCRIPTS:
            _add(packed, name, (INSIDE / name).read_bytes(), 0o755)
        _add(packed, "node", node.encode())
        _add(packed, "sshd_config", SSHD_CONFIG.encode())
        _add(packed, "host_key", (folder / machine.name).read_bytes(), 0o600)
        _add(packed, "authorized_keys", (folder / "user.pub").read_bytes())
    return path


def _add(packed: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(f"lab/{name}")
    info.size, info.mode = len(data), mode
    packed.addfile(info, io.BytesIO(data))


def write_ssh_config(folder: Path, ports: dict[str, int]) -> Path:
    """A file for `ssh -F` by which the guests' names lead to their loopback ports; host keys are known and checked."""
    known = folder / "known_hosts"
    known.write_text("".join(f"{one.name} {(folder / f'{one.name}.pub').read_text()}" for one in MACHINES))
    hosts = "".join(f"Host {name}\n  Port {port}\n  HostKeyAlias {name}\n" for name, port in ports.items())
    path = folder / "ssh_config"
    path.write_text(
        f"{hosts}Host *\n  HostName 127.0.0.1\n  User root\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n"
        f"  IdentityAgent none\n  UserKnownHostsFile {known}\n  GlobalKnownHostsFile /dev/null\n"
        "  StrictHostKeyChecking yes\n"
    )
    return path
