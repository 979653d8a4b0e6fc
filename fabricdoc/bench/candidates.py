"""Candidates as data: named sets of variables from presets/candidates, or from a user's own TOML files.

Here they are chosen by name and filtered by what this NCCL and this fabric can take; `candidate_files` reads
and checks a file. Sets that differ per node (selectors, the other rail) are made by the planner, not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from fabricdoc.bench.candidate_files import Offer, read_candidate_file
from fabricdoc.errors import InputError, UsageError
from fabricdoc.files import own_folder
from fabricdoc.model.run import Backend, Candidate
from fabricdoc.nccl import catalogue, parse_conditions, parse_release, satisfies

__all__ = ["Dropped", "Offer", "applicable", "load_candidates"]


class Dropped(NamedTuple):
    """A candidate that can't be tried here, and why."""

    name: str
    reason: str


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
    set_backend, offers = read_candidate_file(file, origin)
    if set_backend not in ("any", backend):
        raise UsageError(f"{set_name} holds candidates for {set_backend}; this bench uses {backend}")
    if not wanted:
        return origin, offers
    names = [offer.name for offer in offers]
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
    sets = _sets(extra_dirs)
    if name in sets:
        return sets[name]
    singles = [
        single for known, file in sets.items() for single in _singles(known, file) if single.endswith(":" + name)
    ]
    raise UsageError(f"no candidate set is called {name!r}", fix=_did_you_mean(name, singles or sorted(sets)))


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


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    """The nearest names as a question, else all of them."""
    near = get_close_matches(name, known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there is: {', '.join(known) or 'none'}"


def applicable(
    candidates: Sequence[Candidate], nccl_version: str, rails: int, *, hca: bool = False
) -> tuple[tuple[Candidate, ...], tuple[Dropped, ...]]:
    """The candidates that can be tried here as plain `Candidate`s, and those that can't with the reason.

    `nccl_version` is the library's ("2.28.9", a +cuda part is ignored; "" where unknown or not NCCL), `rails`
    how many rails join the nodes, `hca` whether the rails have RDMA devices.
    """
    kept: list[Candidate] = []
    dropped: list[Dropped] = []
    for candidate in candidates:
        reason = _unfit(candidate, nccl_version, rails, hca)
        if reason:
            dropped.append(Dropped(candidate.name, reason))
        else:
            kept.append(Candidate.model_validate(candidate.model_dump(include=set(Candidate.model_fields))))
    return tuple(kept), tuple(dropped)


def _unfit(candidate: Candidate, nccl_version: str, rails: int, hca: bool) -> str | None:
    """Why this candidate can't be tried here, or None."""
    offer = candidate if isinstance(candidate, Offer) else Offer.model_validate(candidate.model_dump())
    if "two-rails" in offer.requires and rails < 2:
        return f"needs two rails between the nodes, there {'is 1' if rails == 1 else 'is none'}"
    if "hca" in offer.requires and not hca:
        return "needs an HCA (RDMA device) on the rails"
    release = parse_release(nccl_version)
    if offer.nccl and release is None:
        return f"needs NCCL {offer.nccl}, the version here is unknown"
    if release and offer.nccl and not satisfies(release, parse_conditions(offer.nccl) or ()):
        return f"needs NCCL {offer.nccl}, here is {nccl_version}"
    return _too_new(offer, nccl_version)


def _too_new(offer: Offer, nccl_version: str) -> str | None:
    """A variable that this NCCL does not read yet, as a reason, or None."""
    release = parse_release(nccl_version)
    for name in offer.variables:
        since = catalogue()[name].since if name in catalogue() else ""
        first = parse_release(since)
        if release and first and release < first:
            return f"NCCL {nccl_version} does not read {name} yet (since {since})"
    return None
