"""Values that are lists or have a grammar of their own: selectors, algorithms, protocols, GIDs, ranges, path levels.

Judged as NCCL parses them (misc/utils.cc, graph/tuning.cc, transport/net_ib): nothing is trimmed, "^" before "=", words
in capitals where it compares case. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.safety import ALGORITHMS, FUNCTIONS, PROTOCOLS, RING_TREE, allowed
from fabricdoc.nccl.versions import Release

STRICT: Release = (2, 24, 3)
"""Since here algorithms and protocols are per function, and what leaves a collective without one fails."""
DEFAULTLESS: Release = (2, 31, 0)
"""Since here a function that NCCL_ALGO does not name, with no default in front, has no algorithm (serving facts 4)."""
CHOOSES_GID: Release = (2, 21, 5)
MOST_ENTRIES = 32
SELECTORS = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME")
EXACT = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
"""Names of interfaces as they are: no "=" and no "^" there."""
SUBSYSTEMS = (
    *("INIT", "COLL", "P2P", "SHM", "NET", "GRAPH", "TUNING", "ENV", "ALLOC", "ALLOC_HOST", "CALL", "PROXY", "NVLS"),
    *("BOOTSTRAP", "REG", "PROFILE", "RAS", "DESTROY", "ALL"),
)
"""Words of NCCL_DEBUG_SUBSYS (src/debug.cc, 2.18 to 2.30.7)."""
_LEVELS = ("LOC", "NVL", "NVB", "C2C", "PORT", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_PORT = re.compile(r"\d{1,3}(?::-?\d{0,4}){0,2}", re.ASCII)


def has_grammar(name: str) -> bool:
    """Whether values of this name are judged here."""
    return name in _CHECKS


def check_list(name: str, value: str, release: Release | None) -> Iterator[Complaint]:
    """What is wrong with a value that has a grammar; nothing for names that have none."""
    check = _CHECKS.get(name)
    if check:
        yield from check(name, value, release)


def _selector(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    if value.startswith("=^"):
        fix = f"{name}=^={value[2:]}"
        yield Complaint(
            "bad-value", name, 'NCCL reads "^" first, then "=": this looks for a name that begins with "^"', fix, "=^"
        )
        return
    bare = value.removeprefix("^").removeprefix("=")
    entries = bare.split(",")
    spaced = [entry for entry in entries if entry != entry.strip()]
    if spaced:
        fix = f"{name}={value[: len(value) - len(bare)]}{','.join(entry.strip() for entry in entries)}"
        message = "NCCL trims nothing: an entry with a blank matches no device"
        yield Complaint("selector-space", name, message, fix, spaced[0])
        return
    yield from _entries(name, value, bare, entries)


def _entries(name: str, value: str, bare: str, entries: list[str]) -> Iterator[Complaint]:
    marked = [entry for entry in entries if entry[:1] in ("=", "^")]
    if marked:
        message = f"{marked[0]!r}: a prefix stands once, before the whole list"
        yield Complaint(
            "bad-value", name, message, f"{name}=={','.join(one.lstrip('=^') for one in entries)}", marked[0]
        )
    if len(entries) > MOST_ENTRIES:
        message = f"{len(entries)} entries: NCCL keeps {MOST_ENTRIES} and drops the rest without a word"
        yield Complaint("out-of-range", name, message, f"list {MOST_ENTRIES} at most")
    if not bare:
        what = "excludes every device" if value.startswith("^") else "means all, as without it"
        yield Complaint("bad-value", name, f"no name is given: that {what}", f"leave {name} out", value)
    if name == "NCCL_IB_HCA":
        yield from _hcas(name, entries)
    elif len(value) == 1:
        yield Complaint("bad-value", name, "NCCL ignores a value of one character", f"{name}==NAME", value)


def _hcas(name: str, entries: list[str]) -> Iterator[Complaint]:
    for entry in entries:
        device, colon, port = entry.partition(":")
        if "+" in device or ";" in device:
            message = f"{entry!r}: a list separates by commas; NICs are fused with NCCL_NET_FORCE_MERGE"
            yield Complaint("bad-value", name, message, f"{name}={','.join(re.split('[+;]', entry))}", entry)
        elif colon and not _PORT.fullmatch(port):
            yield Complaint(
                "bad-value", name, f"{entry!r}: behind the colon stands a port number", f"{device}:1", entry
            )


def _exact(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    if value[:1] in ("=", "^"):
        message = f"{name} takes names as they are: there is no interface called {value!r}"
        yield Complaint("bad-value", name, message, f"{name}={value.lstrip('=^')}", value[0])
    spaced = [entry for entry in value.split(",") if entry != entry.strip()]
    if spaced:
        fix = f"{name}={','.join(entry.strip() for entry in value.split(','))}"
        yield Complaint("selector-space", name, "a blank is part of the name here", fix, spaced[0])


def _protocols(name: str, value: str, release: Release | None) -> Iterator[Complaint]:
    words = _words(name, value, PROTOCOLS)
    if isinstance(words, Complaint):
        yield words
        return
    if early := _early(name, value, release):
        yield early
    if not any("ll128" in one for one in words.values()):
        return
    by_name = not any(part.rpartition(":")[2].startswith("^") for part in value.split(";"))
    how = "named, it is forced on" if by_name else 'a "^" list forces on everything it does not name, LL128 too'
    yield Complaint(
        "ll128-forced-by-name" if by_name else "ll128-forced-by-exclusion",
        name,
        f"{how}, past NCCL's own test of the path: where 128-byte stores are split, data is corrupted without a word",
        f"{name}=LL,Simple (write the wanted ones)",
        value,
    )


def _algorithms(name: str, value: str, release: Release | None) -> Iterator[Complaint]:
    words = _words(name, value, ALGORITHMS)
    if isinstance(words, Complaint):
        yield words
        return
    if form := _early(name, value, release) or _defaultless(name, value, words, release):
        yield form
        return
    both: tuple[str, ...] = ("broadcast", "reduce")
    ringless = [function for function in both if function in words and "ring" not in words[function]]
    gathers = ("allgather", "reducescatter")
    able = frozenset({"ring", "pat", "nvls", "collnetdirect"})
    ringless += [function for function in gathers if function in words and not words[function] & able]
    if ringless and (release is None or release >= STRICT):
        message = (
            f"{', '.join(ringless)} {'has' if len(ringless) == 1 else 'have'} no algorithm left: since NCCL 2.24 "
            "the first such call fails (tree is for all-reduce alone)"
        )
        yield Complaint("algo-without-function-form", name, message, f"{name}={RING_TREE}", value)


def _early(name: str, value: str, release: Release | None) -> Complaint | None:
    """A form that the known release does not read yet."""
    if release is None or release >= STRICT[:2] or not {";", ":"} & set(value):
        return None
    message = "functions are told apart since NCCL 2.24: before, each such word is ignored without a word"
    return Complaint("bad-value", name, message, f"{name}: one list for all functions, or a newer NCCL", value)


def _defaultless(
    name: str, value: str, words: Mapping[str, frozenset[str]], release: Release | None
) -> Complaint | None:
    """Functions that the known release leaves without an algorithm because they are not named."""
    unnamed = [function for function in FUNCTIONS if function not in words]
    if release is None or release < DEFAULTLESS or not unnamed:
        return None
    message = f"since NCCL 2.31 functions that are not named have no algorithm: {', '.join(unnamed)}"
    return Complaint("algo-without-function-form", name, message, f"{name}=ring;{value.strip(';')}", value)


def _words(name: str, value: str, words: tuple[str, ...]) -> dict[str, frozenset[str]] | Complaint:
    try:
        return allowed(value, words)
    except ValueError as error:
        fix = f"words: {', '.join(words)}; functions: {', '.join(FUNCTIONS)}"
        return Complaint("bad-value", name, f"{error}; NCCL 2.24 and later refuse to start", fix, value)


def _gid_index(name: str, value: str, release: Release | None) -> Iterator[Complaint]:
    if re.fullmatch(r"\d+", value) and (release is None or release >= CHOOSES_GID):
        message = (
            f"index {value} is used on every port of the process, whatever lies there; it moves when addresses come "
            "and go. NCCL 2.21.5 and later choose the RoCE v2 entry themselves"
        )
        yield Complaint(
            "gid-index-pinned", name, message, f"leave {name} out; NCCL_IB_ADDR_RANGE narrows the choice", value
        )


def _address_range(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    import ipaddress

    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError as error:
        yield Complaint("bad-value", name, f"no range of addresses: {error}", f"{name}=10.0.0.0/24", value)
        return
    if "/" not in value:
        yield Complaint("bad-value", name, "without a mask NCCL ignores it without a word", f"{name}={value}/24", value)


def _level(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    if re.fullmatch(r"-?\d+", value):
        if not 0 <= int(value[:4]) <= 5:
            yield Complaint("out-of-range", name, "the old numbers go from 0 to 5", f"{name}=PHB", value)
    elif value not in _LEVELS:
        right = value.strip().upper()
        fix = f"{name}={right}" if right in _LEVELS else f"{name}: one of {', '.join(_LEVELS)}"
        yield Complaint("bad-value", name, "NCCL compares case and ignores what it does not know", fix, value)


def _merge(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    spaced = [entry for entry in re.split("[,;]", value) if entry != entry.strip()]
    if spaced:
        fix = name + "=" + re.sub(r" *([,;]) *", r"\1", value.strip())
        yield Complaint(
            "selector-space", name, "names are taken as they are: with a blank NCCL fails at its start", fix, spaced[0]
        )


def _subsystems(name: str, value: str, _release: Release | None) -> Iterator[Complaint]:
    words = value.removeprefix("^").split(",")
    if strange := [word for word in words if word.upper() not in SUBSYSTEMS]:
        message = f"NCCL knows no part called {strange[0]!r}, and leaves it out without a word"
        fix = f"words: {', '.join(SUBSYSTEMS)}"
        yield Complaint("bad-value", name, message, fix, strange[0] or value, level="warning")


Check = Callable[[str, str, "Release | None"], Iterator[Complaint]]
_CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(SELECTORS, _selector),
    **dict.fromkeys(EXACT, _exact),
    "NCCL_PROTO": _protocols,
    "NCCL_ALGO": _algorithms,
    "NCCL_IB_GID_INDEX": _gid_index,
    "NCCL_IB_ADDR_RANGE": _address_range,
    **dict.fromkeys(("NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL", "NCCL_NET_MERGE_LEVEL"), _level),
    "NCCL_NET_FORCE_MERGE": _merge,
    "NCCL_DEBUG_SUBSYS": _subsystems,
}
