"""The state files of standing labs: one JSON file per lab in a folder of this user's own.

Written once and exclusively, removed when the lab is gone. Only files: which lab may be up or down is
decided by `standing`. Under sudo the labs are root's: they are kept in root's folder, not the calling user's.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pwd
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabricdoc.errors import ToolError, UsageError
from fabricdoc.lab.processes import boot_id, start_time
from fabricdoc.lab.spec import NAME, LabState

MAX_STATE = 1 << 20
LOCK_S = 5.0
LOCK_POLL_S = 0.02

_SET_HOME = "set HOME or XDG_STATE_HOME to a folder of your own, as in `export XDG_STATE_HOME=/var/tmp/$(id -u)`"


def state_folder() -> Path:
    """The folder (mode 0700, made if missing): under $XDG_RUNTIME_DIR, else the XDG state folder, else $HOME.

    A base that belongs to another user (sudo keeps variables on some systems) is passed over. Raises
    ToolError if the folder is not this user's alone.
    """
    folder = _base() / "fabricdoc" / "lab"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ToolError(
            f"the lab's state folder {folder} can't be made: {error.strerror}",
            fix=_SET_HOME,
            id="lab-state",
        ) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise ToolError(
            f"the lab's state folder {folder} is not a folder of your own",
            fix=f"remove it: `rm -r {folder}`",
            id="lab-state",
        )
    folder.chmod(0o700)
    return folder


def _base() -> Path:
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute() and _is_own_folder(runtime):
        return runtime
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state.is_absolute() and _is_own_folder(_nearest_existing(state)):
        return state
    return _home() / ".local" / "state"


def _home() -> Path:
    """$HOME, else the home this user has in passwd; for root only a $HOME of its own (sudo may keep the caller's)."""
    home = Path(os.environ.get("HOME", ""))
    if home.is_absolute() and (os.geteuid() != 0 or _is_own_folder(_nearest_existing(home))):
        return home
    try:
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        raise ToolError(
            f"no place for the lab's state: user {os.geteuid()} has no HOME and is not in passwd",
            fix=_SET_HOME,
            id="lab-state",
        ) from None


def _is_own_folder(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _nearest_existing(path: Path) -> Path:
    return next((parent for parent in (path, *path.parents) if parent.exists()), path)


def state_path(folder: Path, name: str) -> Path:
    """The state file of the lab `name` (a name that passed check_name)."""
    return folder / f"{name}.json"


def write_state(folder: Path, state: LabState) -> bool:
    """Write a lab's state file; False if a lab of that name has one already (nothing is overwritten)."""
    draft = folder / f".{state.name}.{os.getpid()}"
    with _locked(folder):
        return _link_new(draft, state_path(folder, state.name), json.dumps(dataclasses.asdict(state)))


def _link_new(draft: Path, file: Path, text: str) -> bool:
    """Write `text` to a draft and give it its name in one step; False if the name is taken."""
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def live_states(folder: Path) -> tuple[LabState, ...]:
    """The labs that stand, by name; files of labs that don't (or that say nothing sensible) are removed.

    The file of a lab that another version of fabricdoc holds stays: without it, that lab would end.
    """
    live = []
    with _locked(folder):
        for file in sorted(folder.glob("*.json")):
            state = read_state(file)
            if state and is_live(state):
                live.append(state)
            elif state or not held_by_other_version(file):
                file.unlink(missing_ok=True)
    return tuple(live)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """This process alone at the state files: so that clearing a stale one can't take a new one's name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end = time.monotonic() + LOCK_S
        while not _try_lock(descriptor):
            if time.monotonic() > end:
                raise ToolError(f"another command holds {folder}", fix="end it, then try again", id="lab-state")
            time.sleep(LOCK_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_state(file: Path) -> LabState | None:
    """A state file's content; None if it is gone or not what we write."""
    from pydantic import TypeAdapter

    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_STATE)
        state = TypeAdapter(LabState).validate_json(text)
    except (OSError, ValueError, UsageError):
        return None
    return state if state.name == file.stem and NAME.fullmatch(state.name) else None


def held_by_other_version(file: Path) -> bool:
    """Whether a state file we can't read names, in the words every version uses, a holder that lives."""
    try:
        with file.open("rb") as stream:
            said = json.loads(stream.read(MAX_STATE))
        pid, start, boot = said["pid"], said["start"], said["boot"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False
    return type(pid) is int and pid > 0 and boot == boot_id() and start_time(pid) == start


def is_live(state: LabState) -> bool:
    """Whether the lab's holder is still that process, of this boot."""
    return state.boot == boot_id() and start_time(state.pid) == state.start
