"""Runs inside the guest's tree while it is built: unpacks its kernel, keeps few modules, makes the first root.

Needs the kernel's .deb in /lab. Leaves /lab/vmlinux (the PVH image, which starts without unpacking itself) and
/lab/initrd (busybox, the modules that reach the disks, `init`). It starts nothing.
"""

import lzma
import shutil
import subprocess
from pathlib import Path

LAB = Path("/lab")
BUSYBOX = Path("/bin/busybox")
FIRST = ("virtio_pci", "virtio_blk", "squashfs", "overlay")
# crc32_generic is used by rdma_rxe without being in its list of dependencies
KEPT = (
    *("virtio_net", "virtio_rng", "rdma_rxe", "crc32_generic", "crc32_pclmul", "crc32c_generic"),
    *("ib_uverbs", "rdma_ucm", "rdma_cm", "ib_umad"),
    *("veth", "dummy", "bridge", "8021q", "bonding", "macvlan", "vrf"),
    *("sch_tbf", "sch_netem", "sch_ingress", "cls_u32", "act_mirred"),
    *("nf_tables", "nft_ct", "nft_limit", "nft_log", "nft_reject_inet", "nf_conntrack"),
)
XZ = b"\xfd7zXZ\x00"


def main() -> None:
    """Do all of it; any failure ends the build with a traceback."""
    (package,) = LAB.glob("linux-image-*.deb")
    kernel = LAB / "kernel"
    subprocess.run(["dpkg-deb", "-x", package, kernel], check=True)
    (version,) = (path.name for path in (kernel / "lib/modules").iterdir())
    subprocess.run(["depmod", "-b", kernel, version], check=True)
    tree = kernel / "lib/modules" / version
    dependencies = read_dependencies(tree)
    install(tree, Path("/lib/modules") / version, ordered(dependencies, [*FIRST, *KEPT]))
    subprocess.run(["depmod", version], check=True)
    (image,) = (kernel / "boot").glob("vmlinuz-*")
    (LAB / "vmlinux").write_bytes(unpacked(image.read_bytes()))
    (LAB / "initrd").write_bytes(first_root(tree, ordered(dependencies, FIRST)))
    shutil.rmtree(kernel)
    package.unlink()


def read_dependencies(tree: Path) -> dict[str, list[str]]:
    """Relative path of each module -> the paths it needs, those to be loaded first at the end (modules.dep)."""
    lines = (tree / "modules.dep").read_text().splitlines()
    return {name: needed.split() for name, _, needed in (line.partition(":") for line in lines)}


def ordered(dependencies: dict[str, list[str]], names: list[str] | tuple[str, ...]) -> list[str]:
    """The paths of these modules and of all they need, each after what it needs."""
    paths = {Path(path).name.split(".")[0].replace("-", "_"): path for path in dependencies}
    found: list[str] = []
    for name in names:
        path = paths[name]
        found += [one for one in (*reversed(dependencies[path]), path) if one not in found]
    return found


def install(tree: Path, target: Path, modules: list[str]) -> None:
    """Copy these modules, and what depmod and modprobe read beside them."""
    for name in (*modules, "modules.order", "modules.builtin", "modules.builtin.modinfo"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / name, target / name)


def unpacked(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage."""
    return lzma.LZMADecompressor().decompress(image[image.index(XZ) :])


def first_root(tree: Path, modules: list[str]) -> bytes:
    """A cpio archive (newc) of busybox, init and the numbered modules."""
    programs = (("bin/busybox", BUSYBOX), ("init", LAB / "first_init"))
    files = [(name, 0o755, path.read_bytes()) for name, path in programs]
    files += [(f"modules/{at:02}.ko", 0o644, (tree / path).read_bytes()) for at, path in enumerate(modules)]
    folders = [(name, 0o040755, b"") for name in ("bin", "modules", "proc", "dev", "ro", "rw", "new")]
    entries = [*folders, *((name, 0o100000 | mode, data) for name, mode, data in files)]
    return b"".join(cpio(name, mode, data) for name, mode, data in [*entries, ("TRAILER!!!", 0, b"")])


def cpio(name: str, mode: int, data: bytes) -> bytes:
    """One entry of a newc archive (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return padded(head) + padded(data)


def padded(data: bytes) -> bytes:
    """Zeros up to a multiple of four."""
    return data + bytes(-len(data) % 4)


if __name__ == "__main__":
    main()
