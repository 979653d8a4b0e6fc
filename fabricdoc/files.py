"""Files that users hand in, and the folders of a user's own: every fault is one InputError, and no read is endless.

Reads whole regular files of bounded size as UTF-8 text, TOML or JSON. Knows no document, writes nothing.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from fabricdoc.errors import InputError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from typing import Self  # a gateway's python may be 3.10

MAX_BYTES = 16 << 20
"""Bytes of a file that are read at most; a larger one is refused."""


class Shipped(Protocol):
    """A document of which one file is shipped, at `place` below presets/."""

    place: ClassVar[str]

    @classmethod
    def model_validate(cls, obj: Any, /) -> Self:
        """The document in that table."""


Kind = TypeVar("Kind", bound=Shipped)
_READ: dict[type[Shipped], Shipped] = {}


def read_bytes(path: Path, what: str, limit: int = MAX_BYTES) -> bytes:
    """The file's bytes, whatever they are. InputError as `read_text`, but for its encoding."""
    try:
        data = _bytes(path, limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{what} can't be read: {reason}", fix="check the path") from error
    if data is None:
        raise InputError(f"{what} is a pipe or a device, not a file", fix="write it to a file first, and name that")
    return data


def read_text(path: Path, what: str, *, fix: str = "", limit: int = MAX_BYTES) -> str:
    """The file's text, without a byte order mark; `what` names it in errors and `fix` is their second line.

    InputError for what can't be read: absent, forbidden, a folder, a pipe or device (reading one may never end),
    larger than `limit` bytes, not UTF-8.
    """
    try:
        data = _bytes(path, limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{what} can't be read: {reason}", fix=fix or "check the path") from error
    if data is None:
        raise InputError(f"{what} is a pipe or a device, not a file", fix="write it to a file first, and name that")
    if len(data) > limit:
        raise InputError(f"{what} is longer than {limit} bytes", fix=fix or "check the path")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} is not UTF-8 text (byte {error.start})", fix=fix or "name a text file") from error


def _bytes(path: Path, most: int) -> bytes | None:
    """At most `most` bytes of a regular file, None for what is no file; opening never waits for a writer."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        mode = os.fstat(stream.fileno()).st_mode
        return stream.read(most) if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else None


def parse_toml(text: str) -> dict[str, Any]:
    """The table in that text. ValueError (TOMLDecodeError where a line is known) for anything else, however deep."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_json(text: str) -> Any:
    """The value in that text. ValueError for anything else, however deep."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def cache_folder() -> Path | None:
    """fabricdoc's folder under XDG_CACHE_HOME, else under ~/.cache; None for a user without a home. Not made here."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    home = home_folder()
    base = Path(given) if given.startswith("/") else home / ".cache" if home else None
    return base / "fabricdoc" if base else None


def own_folder(name: str) -> Traversable:
    """The folder of what fabricdoc brings along: `presets` or `probes`.

    Beside this file, as every installer puts it; `importlib.resources` knows other places, and takes 10 ms to load.
    """
    beside = Path(__file__).parent / name
    if beside.is_dir():
        return beside
    from importlib.resources import files

    return files(f"fabricdoc.{name}")


def shipped(kind: type[Kind]) -> Kind:
    """The one shipped file of that kind (presets/PLACE, a TOML table), checked; it is read once in a process."""
    if kind not in _READ:
        text = own_folder("presets").joinpath(kind.place).read_text(encoding="utf-8")
        _READ[kind] = kind.model_validate(parse_toml(text))
    found = _READ[kind]
    assert isinstance(found, kind)
    return found


def is_file(path: Path) -> bool:
    """Whether a file is there that this user may know of; a folder that can't be searched has none."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there that this user may know of."""
    try:
        return path.is_dir()
    except OSError:
        return False


def home_folder() -> Path | None:
    """The user's home folder: HOME, else what the system's user list says; None where neither names one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def expanded(path: Path) -> Path:
    """`path` with a leading ~ or ~USER replaced; as it is where there is no such home."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path
