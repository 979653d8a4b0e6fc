"""What a boot hands its guests, and what goes into the first root: keys, names, scripts, archives."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.labs.inside import fit_kernel
from tests.labs.seed import ALPHA, BETA, MACHINES, write_keys, write_seed, write_ssh_config

pytestmark = pytest.mark.unit

INSIDE = Path(fit_kernel.__file__).parent


def test_the_rails_are_crossed_and_each_is_a_subnet() -> None:
    rails = [address.rpartition(".")[0] for address in ALPHA.addresses]
    assert len(set(rails)) == 2
    assert [address.rpartition(".")[0] for address in BETA.addresses] == rails[::-1]
    assert len({address for machine in MACHINES for address in machine.addresses}) == 4


def test_each_guest_gets_its_own_key_and_name(tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen: make deps installs it")
    write_keys(tmp_path)
    keys, nodes = set(), []
    for machine in MACHINES:
        with tarfile.open(write_seed(tmp_path, machine)) as packed:
            members = {one.name: packed.extractfile(one).read() for one in packed}  # type: ignore[union-attr]
            assert packed.getmember("lab/init").mode & 0o111
            assert packed.getmember("lab/host_key").mode == 0o600
        keys.add(members["lab/host_key"])
        nodes.append(dict(line.split("=") for line in members["lab/node"].decode().splitlines()))
        assert members["lab/authorized_keys"] == (tmp_path / "user.pub").read_bytes()
    assert len(keys) == 2
    assert [node["NAME"] for node in nodes] == ["alpha", "beta"]
    assert len({node["MACHINE"] for node in nodes}) == 2
    assert nodes[0]["F0"] == f"{ALPHA.addresses[0]}/24"


def test_host_keys_are_known_and_checked(tmp_path: Path) -> None:
    for machine in MACHINES:
        (tmp_path / f"{machine.name}.pub").write_text(f"ssh-ed25519 KEY-{machine.name} x\n")
    text = write_ssh_config(tmp_path, {"alpha": 4001, "beta": 4002}).read_text()
    assert "StrictHostKeyChecking yes" in text
    assert "Host beta\n  Port 4002\n  HostKeyAlias beta\n" in text
    assert (tmp_path / "known_hosts").read_text().splitlines()[1] == "beta ssh-ed25519 KEY-beta x"


@pytest.mark.parametrize("name", ["init", "healthy", "first_init"])
def test_guest_scripts_parse(name: str) -> None:
    shell = shutil.which("dash") or shutil.which("bash")
    assert shell
    subprocess.run([shell, "-n", INSIDE / name], check=True, timeout=20)


def test_modules_come_after_what_they_need() -> None:
    dependencies = {"k/a.ko": ["k/b.ko", "k/c-d.ko"], "k/b.ko": ["k/c-d.ko"], "k/c-d.ko": [], "k/e.ko": []}
    assert fit_kernel.ordered(dependencies, ["a", "c_d"]) == ["k/c-d.ko", "k/b.ko", "k/a.ko"]
    with pytest.raises(KeyError):
        fit_kernel.ordered(dependencies, ["absent"])


def test_modules_dep_is_read_as_depmod_writes_it(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text("k/a.ko: k/b.ko k/c.ko\nk/b.ko:\n")
    assert fit_kernel.read_dependencies(tmp_path) == {"k/a.ko": ["k/b.ko", "k/c.ko"], "k/b.ko": []}


def test_the_archive_is_what_the_kernel_unpacks() -> None:
    entry = fit_kernel.cpio("bin/x", 0o100755, b"12345")
    assert len(entry) % 4 == 0
    assert entry.startswith(b"070701" + b"00000000" + b"000081ed")
    fields = [int(entry[6 + 8 * at : 14 + 8 * at], 16) for at in range(13)]
    assert (fields[6], fields[11]) == (5, len("bin/x") + 1)
    assert entry[110:116] == b"bin/x\0"
    assert entry[116:121] == b"12345"


def test_the_kernel_is_unpacked_from_its_magic() -> None:
    import lzma

    packed = lzma.compress(b"\x7fELF kernel", format=lzma.FORMAT_XZ)
    assert fit_kernel.unpacked(b"head" * 9 + packed + b"tail") == b"\x7fELF kernel"
    with pytest.raises(ValueError):
        fit_kernel.unpacked(b"no xz here")
