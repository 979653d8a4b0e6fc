"""Virtual environments made in one step: built under another name, renamed when whole, behind a lock.

Also where they may lie: root never writes into another user's folders. What goes into an environment is decided
elsewhere; this module calls neither pip nor the network.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pip_call import Stop, say

LOCK_DEADLINE_S = 1800.0
FOREIGN_ROOT_CACHE = Path("/var/cache/fabricdoc")


def is_foreign(path: Path, euid: int | None = None) -> bool:
    """Whether we are root and `path` (or its nearest existing parent) is another user's: sudo in their home."""
    while not path.exists():
        path = path.parent
    return (os.geteuid() if euid is None else euid) == 0 and path.stat().st_uid != 0


def cache_home() -> Path:
    """The folder of all environments; root never writes into another user's cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "fabricdoc"
    return FOREIGN_ROOT_CACHE if is_foreign(folder) else folder


@contextmanager
def locked(path: Path, deadline_s: float = LOCK_DEADLINE_S) -> Iterator[None]:
    """Hold the lock `path`; another holder is waited for (announced once) until the deadline, then Stop."""
    end = time.monotonic() + deadline_s
    told = False
    with path.open("a") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise Stop(f"another process has held {path} for {deadline_s:.0f} s") from None
            if not told:
                say("waiting for another make that prepares the same environment")
                told = True
            time.sleep(0.2)
        yield


def site_packages(environment: Path) -> Path:
    """Where a virtual environment of this Python keeps its packages."""
    base = str(environment)
    return Path(sysconfig.get_path("purelib", "venv", vars={"base": base, "platbase": base}))


def ready(environment: Path) -> bool:
    """Whether a whole environment is there, its interpreter still exists, and so does what it borrows from."""
    try:
        borrowed = json.loads((environment / "complete").read_text())
    except (OSError, ValueError):
        return False
    return os.access(environment / "bin" / "python", os.X_OK) and all(Path(path).is_dir() for path in borrowed)


def build(final: Path, fill: Callable[[Path], Sequence[str]]) -> None:
    """Make the environment `final` in one step: `fill(python)` installs and returns folders it borrows from.

    Whatever an interrupted build left beside it is removed; the caller holds the lock.
    """
    for stale in final.parent.glob(f"{final.name}.*"):
        shutil.rmtree(stale, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"{final.name}.", dir=final.parent))
    try:
        temporary.chmod(0o755)
        venv.EnvBuilder(with_pip=False, symlinks=True).create(temporary)
        borrowed = fill(temporary / "bin" / "python")
        relocate(temporary, final)
        (temporary / "complete").write_text(json.dumps(list(borrowed)))
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def relocate(temporary: Path, final: Path) -> None:
    """Make the scripts in bin/ name the folder they will be in; the activate scripts, which can't, go."""
    for script in (temporary / "bin").iterdir():
        if script.name.lower().startswith("activate"):
            script.unlink()
        elif not script.is_symlink():
            text = script.read_bytes()
            if text.startswith(b"#!"):
                script.write_bytes(text.replace(os.fsencode(temporary), os.fsencode(final)))
