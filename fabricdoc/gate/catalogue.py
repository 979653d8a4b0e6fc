"""What a gate may look at: the rows of presets/gate, and the floors of profiles. Data only; judges nothing.

`quick.toml` and the files of deeper levels hold rows under [[check]]; `floors.toml` holds numbers by profile, and a
user's own file of that name wins profile by profile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import home_folder, own_folder, parse_toml, read_text
from fabricdoc.model.findings import Severity

FLOORS = "floors.toml"
WHO = ("administrator", "launcher", "measurer")
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
NUMBERS = ("memory_gib", "memlock_mib", "shm_mib")


class Kind(NamedTuple):
    """One row: the stable id, the question, who must act on a no, and which findings are a no from `decides` on."""

    id: str
    asks: str
    who: str
    drift: bool = False
    hardware: bool = False
    findings: tuple[str, ...] = ()
    decides: Severity = "error"
    fix: tuple[str, ...] = ()
    why: str = ""

    def refused_by(self, severity: Severity) -> bool:
        """Whether a finding of this severity is a no (else it is only noted)."""
        return SEVERITIES.index(severity) <= SEVERITIES.index(self.decides)


class Floors(NamedTuple):
    """What a profile asks of a node; None where the general rule holds. `only` narrows the gate to these ids."""

    memory_gib: float | None = None
    memlock_mib: float | None = None
    shm_mib: float | None = None
    only: tuple[str, ...] = ()


NO_FLOORS = Floors()


@cache
def kinds() -> Mapping[str, Kind]:
    """Every row of every level by id, in the order in which an answer tells them."""
    folder = own_folder("presets") / "gate"
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".toml")), key=lambda one: one.name)
    found: dict[str, Kind] = {}
    for file in sorted(files, key=lambda one: one.name != "quick.toml"):
        for row in parse_toml(file.read_text(encoding="utf-8")).get("check", ()) if file.name != FLOORS else ():
            found[row["id"]] = _kind(row)
    return found


def _kind(row: Mapping[str, Any]) -> Kind:
    lists = {key: tuple(row.get(key, ())) for key in ("findings", "fix")}
    return Kind(**{**row, **lists})


def kind_of(id: str) -> Kind:
    """The row of an id; one that no file has (a level of somebody's own) is the launcher's."""
    return kinds().get(id) or Kind(id, id, "launcher")


def check_ids(ids: Iterable[str], option: str) -> tuple[str, ...]:
    """The ids, each once. A finding's id stands for its check. UsageError for one that is neither."""
    return tuple(dict.fromkeys(_known(one, option) for one in ids))


def _known(wanted: str, option: str) -> str:
    from difflib import get_close_matches

    if wanted in kinds():
        return wanted
    of_finding = next((kind.id for kind in kinds().values() if wanted in kind.findings), None)
    if of_finding is not None:
        return of_finding
    near = get_close_matches(wanted, list(kinds()), n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        f"{option} {wanted[:60]!r}: the gate has no such check",
        fix=f"{meant}ids: {', '.join(kinds())}",
        id="no-such-check",
    )


def hardware_ids() -> tuple[str, ...]:
    """The ids that `gate --local` refuses for unless others are named."""
    return tuple(kind.id for kind in kinds().values() if kind.hardware)


def floors_of(profile: str, folders: Sequence[Path] = ()) -> Floors:
    """The floors of a profile, each from the first that has it: the user's folders, his own presets, the shipped ones.

    InputError for a file that can't be read or holds something else.
    """
    shipped = (own_folder("presets") / "gate" / FLOORS).read_text(encoding="utf-8")
    found: dict[str, Any] = _rows(shipped, FLOORS).get(profile, {})
    paths = [*(folder / "gate" / FLOORS for folder in folders), _own()]
    for path in reversed(paths):
        if path.is_file():
            found = found | _rows(read_text(path, str(path)), str(path)).get(profile, {})
    return Floors(**found)


def _own() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(config) if config.startswith("/") else (home_folder() or Path("/nonexistent")) / ".config"
    return home / "fabricdoc" / "presets" / "gate" / FLOORS


def _rows(text: str, name: str) -> dict[str, dict[str, Any]]:
    """Fields of `Floors` by profile."""
    try:
        tables = parse_toml(text)
        return {profile: _floors(table) for profile, table in tables.items()}
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{name}: {error}", fix="see the comments in presets/gate/floors.toml") from error


def _floors(table: Mapping[str, Any]) -> dict[str, Any]:
    """One profile's table. ValueError for a key that is none, a number that is none or a check that is none."""
    unknown = set(table) - {*NUMBERS, "only"}
    if unknown:
        raise ValueError(f"there is no {sorted(unknown)[0]!r}; keys: {', '.join((*NUMBERS, 'only'))}")
    found: dict[str, Any] = {name: _number(name, table[name]) for name in NUMBERS if name in table}
    return found | ({"only": _only(table["only"])} if "only" in table else {})


def _only(ids: object) -> tuple[str, ...]:
    """A word that is no check's id would leave that check out, unseen."""
    if not isinstance(ids, list):
        raise ValueError(f"only is {str(ids)[:40]!r}, wanted a list of checks")
    strange = [one for one in ids if one not in kinds()]
    if strange:
        raise ValueError(f"only names {str(strange[0])[:40]!r}, and the gate has no such check")
    return tuple(ids)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1 << 40:
        raise ValueError(f"{name} is {str(value)[:40]!r}, wanted a number from 0")
    return float(value)


@cache
def kept_free(*, unified: bool) -> float:
    """GiB of MemAvailable that a launch must leave (presets/platforms/memory.toml)."""
    text = (own_folder("presets") / "platforms" / "memory.toml").read_text(encoding="utf-8")
    return float(parse_toml(text)["unified" if unified else "separate"]["after_launch"])


@cache
def error_counters() -> Mapping[str, frozenset[str]]:
    """Source (port, hw, ethtool) -> names of the counters that checks judge, with every priority written out."""
    text = (own_folder("presets") / "checks" / "counters.toml").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for row in parse_toml(text)["counter"]:
        for name in row["names"]:
            found.setdefault(row["source"], set()).update(
                name.replace("{priority}", str(number)) for number in range(8)
            )
    return {source: frozenset(names) for source, names in found.items()}
