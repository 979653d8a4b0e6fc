"""Candidates as data: named sets of variables from presets/candidates, or from a user's own TOML files.

Here they are chosen by name; `candidate_files` reads and checks a file, `ground` says which of them can be tried here.
Sets whose values differ per node (selectors, the other rail) are made from the proven links, in `base`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from fabricdoc.bench.candidate_files import read_candidate_file
from fabricdoc.bench.offers import Offer
from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import own_folder
from fabricdoc.model.run import Backend
from fabricdoc.near import meant

__all__ = ["Offer", "load_candidates", "sets_of"]

BASE, CURRENT, BOTH_NICS = "base", "current", "both-nics"
ALWAYS = {
    BASE: ("base is in every block twice, without being asked for", "leave base out of --candidates"),
    CURRENT: ("it is what you serve with today", "name that: --current FILE, container:NAME or pid:N"),
}
"""What is a candidate and no set: why, and what to write instead."""


def load_candidates(
    names_or_paths: Sequence[str], *, backend: Backend, extra_dirs: Sequence[Path] = ()
) -> tuple[Offer, ...]:
    """The candidates of sets ("decode"), single ones ("decode:simple") and TOML files ("./my.toml"), in order.

    A directory of `extra_dirs`, laid out as presets/ (DIR/candidates/NAME.toml), wins over the shipped sets.
    Errors: UsageError for an unknown name (with the nearest) or a set of the other backend; InputError for a file.
    Asking twice for the same candidate gives it once; two different ones of one name are an InputError.
    """
    chosen: dict[str, tuple[str, Offer]] = {}
    for item in names_or_paths:
        origin, offers = _select(item, backend, extra_dirs)
        for offer in offers:
            where, kept = chosen.setdefault(offer.name, (origin, offer))
            if kept != offer:
                raise InputError(f"two candidates are called {offer.name!r}: in {where} and in {origin}")
    return tuple(offer for _, offer in chosen.values())


def _select(item: str, backend: Backend, extra_dirs: Sequence[Path]) -> tuple[str, tuple[Offer, ...]]:
    """The file's name and the offers that one item asks for."""
    set_name, wanted = _split(item)
    file = _find(set_name, extra_dirs)
    origin = str(file) if isinstance(file, Path) and _is_path(set_name) else file.name
    set_backend, offers = read_candidate_file(file, origin, own=isinstance(file, Path) and _is_path(set_name))
    if set_backend not in ("any", backend):
        fix = f"measure with --backend {set_backend}, or leave {set_name} out"
        raise UsageError(f"{set_name} holds candidates for {set_backend}; this bench uses {backend}", fix=fix)
    if not wanted:
        return origin, offers
    names = [offer.name for offer in offers]
    if not names:
        fix = "leave it out; --both-nics makes candidates of the proven rails"
        raise UsageError(f"{set_name} holds no candidate, so no {wanted!r}", fix=fix)
    if wanted not in names:
        raise UsageError(f"{set_name} has no candidate {wanted!r}", fix=_did_you_mean(wanted, names))
    return origin, tuple(offer for offer in offers if offer.name == wanted)


def _is_path(name: str) -> bool:
    return name.endswith(".toml") or "/" in name


def _split(item: str) -> tuple[str, str]:
    """("decode", "simple") from "decode:simple"; a path keeps its own colons unless they follow ".toml"."""
    path, found, name = item.rpartition(".toml:")
    if found:
        return path + ".toml", name
    if _is_path(item):
        return item, ""
    set_name, _, name = item.partition(":")
    return set_name, name


def _find(name: str, extra_dirs: Sequence[Path]) -> Traversable:
    """The file of a set, or the path itself. UsageError names what is near, or the sets that exist."""
    if _is_path(name):
        return Path(name)
    if name in ALWAYS:
        why, fix = ALWAYS[name]
        raise UsageError(f"{name!r} is no set to choose: {why}", fix=fix)
    sets = _sets(extra_dirs)
    if name in sets:
        return sets[name]
    singles = [
        single for known, file in sets.items() for single in _singles(known, file) if single.endswith(":" + name)
    ]
    there = sorted(set(sets) - set(ALWAYS))
    guess = f"did you mean {' or '.join(singles)}?" if singles else meant(name, there, 2)
    fix = f"{guess} there is: {', '.join(there) or 'none'}".strip()
    raise UsageError(f"no candidate set is called {name!r}", fix=fix)


def _singles(set_name: str, file: Traversable) -> list[str]:
    """The candidates of a set as they can be asked for; [] for a file that can't be read."""
    try:
        return [f"{set_name}:{offer.name}" for offer in read_candidate_file(file, set_name)[1]]
    except InputError:
        return []


def _sets(extra_dirs: Sequence[Path]) -> dict[str, Traversable]:
    """Every set by name; a user's own file wins over the shipped one."""
    folders: list[Traversable] = [own_folder("presets").joinpath("candidates")]
    folders += [extra / "candidates" for extra in reversed(extra_dirs)]
    found: dict[str, Traversable] = {}
    for folder in folders:
        try:
            entries = sorted(folder.iterdir(), key=lambda entry: entry.name) if folder.is_dir() else []
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror or error}") from error
        found |= {entry.name.removesuffix(".toml"): entry for entry in entries if entry.name.endswith(".toml")}
    return found


def sets_of(backend: Backend, extra_dirs: Sequence[Path] = ()) -> dict[str, int]:
    """The sets that a bench of this backend can be asked for, with how many candidates each holds."""
    counted = {}
    for name, file in _sets(extra_dirs).items():
        try:
            set_backend, offers = read_candidate_file(file, name)
        except InputError:
            continue
        if set_backend in ("any", backend) and offers:
            counted[name] = len(offers)
    return counted


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    """The nearest names as a question, else all of them."""
    return meant(name, known, 2) or f"there is: {', '.join(known) or 'none'}"
