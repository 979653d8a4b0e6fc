"""The lab's guest image: Debian bookworm with its own kernel, built once per recipe into the user's cache folder.

The whole suite and the kernel come through mmdebstrap's own apt, so they are bookworm's on any host; the mirror is
the host's where the host is a Debian, else mmdebstrap's default. Built beside its final place and renamed when whole,
behind a lock. What differs between boots (keys, names, scripts) is not in here but in `seed`.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fabricdoc.lab.kernel import PR_SET_PDEATHSIG

SUITE = "bookworm"
PACKAGES = (
    "busybox-static", "kmod", "iproute2", "ethtool", "iputils-ping", "pciutils", "procps", "nftables",
    "openssh-server", "ibverbs-providers", "ibverbs-utils", "python3", "python3-pyverbs", "lldpd",
)  # fmt: skip
FILES = ("root.sqfs", "vmlinux", "initrd")
INSIDE = Path(__file__).parent / "inside"
RECIPE = (INSIDE / "fit_kernel.py", INSIDE / "first_init")
LEFT_OUT = ("doc", "man", "locale", "info")
BUILD_LIMIT_S = 900
END_LIMIT_S = 60
LOCK_LIMIT_S = 1200
ROOTS_CACHE = Path("/var/cache/fabricdoc")
FETCH_KERNEL = """set -eu
cd "$1/lab"
export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
apt-get download "$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: //p' | head -n 1)"
"""


def image(build: Callable[[Path], None] | None = None) -> Path:
    """The folder with FILES, built by `build(folder)` when it is not there (another builder is waited for)."""
    final = cache_home() / f"roce-lab-{recipe_hash()}"
    final.parent.mkdir(parents=True, exist_ok=True)
    with locked(final.parent / f"{final.name}.lock"):
        if not final.is_dir():
            _build_beside(final, build or build_image)
    return final


def recipe_hash() -> str:
    """What the image depends on; which versions the mirror holds is left out."""
    whole = hashlib.sha256(repr((SUITE, PACKAGES, LEFT_OUT, FETCH_KERNEL)).encode())
    for path in RECIPE:
        whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


def cache_home() -> Path:
    """`fabricdoc` in the user's cache folder; root never writes into another user's."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "fabricdoc"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return ROOTS_CACHE if os.geteuid() == 0 and there.stat().st_uid != 0 else folder


@contextmanager
def locked(path: Path, limit_s: float = LOCK_LIMIT_S) -> Iterator[None]:
    """Hold the lock file `path`; TimeoutError when another process holds it for `limit_s`."""
    end = time.monotonic() + limit_s
    with path.open("a") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError(f"another process has held {path} for {limit_s:.0f} s") from None
            time.sleep(0.2)
        yield


def _build_beside(final: Path, build: Callable[[Path], None]) -> None:
    """Build into a folder of another name, then rename; what an interrupted build left is removed."""
    for stale in final.parent.glob(f"{final.name}.part-*"):
        shutil.rmtree(stale, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{final.name}.part-", dir=final.parent))
    try:
        build(folder)
        folder.chmod(0o755)
        folder.rename(final)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_image(folder: Path) -> None:
    """Write FILES into `folder`; needs network, mmdebstrap, mksquashfs and root or user namespaces. About a minute."""
    tree = folder / "root.tar"
    _run([*own_mounts(), *mmdebstrap_words(folder, tree)], folder)
    squash = ["mksquashfs", "-", str(folder / "root.sqfs"), "-tar", "-quiet", "-no-progress"]
    with tree.open("rb") as packed:
        _run([*squash, "-comp", "zstd", "-Xcompression-level", "3"], folder, packed)
    tree.unlink()
    for name in FILES:
        assert (folder / name).stat().st_size > 0, name


def mmdebstrap_words(folder: Path, tree: Path) -> list[str]:
    """The one command that makes the tree, and takes kernel and first root out of it."""
    mode = "root" if os.geteuid() == 0 else "unshare"
    words = ["mmdebstrap", "--variant=minbase", f"--mode={mode}", "--architectures=amd64", "--format=tar"]
    words += [f"--include={','.join(PACKAGES)}", "--aptopt=APT::Install-Recommends false"]
    words += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in LEFT_OUT]
    hooks = [
        'mkdir "$1/lab"',
        *(f"upload {INSIDE / name} /lab/{name}" for name in ("fit_kernel.py", "first_init")),
        FETCH_KERNEL,
        'chroot "$1" python3 /lab/fit_kernel.py',
        *(f"download /lab/{name} {folder / name}" for name in ("vmlinux", "initrd")),
        'rm -r "$1/lab"',
    ]
    words += [f"--customize-hook={hook}" for hook in hooks]
    return [*words, SUITE, str(tree), *mirror()]


def own_mounts() -> list[str]:
    """Words in front that keep root's mounts out of everybody else's sight, where the kernel lets us."""
    words = ["unshare", "--mount"]
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return []
    return [] if subprocess.run([*words, "true"], capture_output=True, timeout=20, check=False).returncode else words


def mirror() -> list[str]:
    """The Debian mirror that this host's apt uses, in a list; nothing where it is no Debian (or has no lists)."""
    words = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(LABEL) $(REPO_URI)", "Created-By: Packages"]
    try:
        said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    found = [line.split()[2] for line in said.splitlines() if line.startswith("Debian Debian ")]
    return found[:1]


def _run(words: list[str], folder: Path, stdin: BinaryIO | None = None) -> None:
    """Run to its end within the limit; a failure shows the last lines of what the command said.

    However this process ends, `timeout` gets a SIGTERM and hands it to all of the command's processes: then
    mmdebstrap takes its temporary tree away.
    """
    log = folder / "build.log"
    limited = ["timeout", f"--kill-after={END_LIMIT_S}", str(BUILD_LIMIT_S), *words]
    with log.open("ab") as output:
        process = subprocess.Popen(
            limited, stdin=stdin or subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=_term_with_parent
        )
        try:
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(END_LIMIT_S)
    if status:
        tail = log.read_text(errors="replace").splitlines()[-20:]
        raise RuntimeError(f"{words[0]} ended with {status}:\n" + "\n".join(tail))


def _term_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)
