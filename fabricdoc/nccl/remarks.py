"""Why a value of NCCL_IB_HCA or NCCL_SOCKET_IFNAME takes less, or more, than it seems to name: one line each.

Blanks, case, quotes, a sign in the middle, "=" missing or too much, ports that are not there, limits. The rules are
`selectors`' and `interfaces`'; nothing is chosen or judged here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fabricdoc.model.fabric import Hca, Netdev
from fabricdoc.nccl.interfaces import MOST_NAMES, Interfaces
from fabricdoc.nccl.selectors import (
    MOST_DEVICES,
    MOST_ENTRIES,
    NAME_SIZE,
    Entry,
    Selection,
    Selector,
    matches,
    parse_selector,
)

NAMED = 4
PLAIN = re.compile(r"[A-Za-z0-9_.@+-]+")
QUOTES = "\"'`"


def reading(value: str, what: str, most: int = MOST_ENTRIES) -> str:
    """How NCCL reads a value, in one sentence; `what` is what it names ("HCA", "interface")."""
    selector = parse_selector(value, most)
    if not selector.entries:
        return f"excludes every {what}" if selector.excludes else f"names none, so it takes every {what}"
    how = "called" if selector.exact else "whose name begins with"
    names = " or ".join(_words(entry) for entry in selector.entries[:NAMED])
    more = len(selector.entries) - NAMED
    names += f" (and {more} more)" if more > 0 else ""
    return f"{'every ' + what + ' but those' if selector.excludes else 'every ' + what} {how} {names}"


def _words(entry: Entry) -> str:
    name = entry.name if PLAIN.fullmatch(entry.name) else repr(entry.name)
    return name if entry.port == -1 else f"{name} (port {entry.port})"


def hca_remarks(value: str, hcas: Sequence[Hca], selection: Selection) -> tuple[str, ...]:
    """What to know of NCCL_IB_HCA=`value` among a node's HCAs, of which `selection` was taken."""
    selector = parse_selector(value)
    names = [hca.name for hca in hcas]
    return (
        *_dropped(selector.dropped, MOST_ENTRIES),
        *(line for entry in selector.entries for line in _of_hca_entry(selector, entry, hcas, selection)),
        *_prefixes(selector, names),
        *_beyond(selection),
    )


def _of_hca_entry(selector: Selector, entry: Entry, hcas: Sequence[Hca], selection: Selection) -> Iterator[str]:
    if entry.text in selection.unmatched:
        yield _why_none(selector, entry, hcas)
    elif entry.text.count(":") > 1:
        yield f"{entry.text!r}: a rail and a plane are read by NCCL 2.30.7 and later"
    elif entry.text.endswith(":"):
        yield f"{entry.text!r}: before NCCL 2.30.7 an empty port is port 0, which there is not"


def _why_none(selector: Selector, entry: Entry, hcas: Sequence[Hca]) -> str:
    """Why no ACTIVE port falls under an entry."""
    named = [hca for hca in hcas if matches(selector, entry, hca.name)]
    if not named:
        netdevs = {port.netdev: hca.name for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}
        return _unmatched(selector, entry, [hca.name for hca in hcas], netdevs, "HCA")
    ports = [(hca, port) for hca in named for port in hca.ports if matches(selector, entry, hca.name, port.number)]
    if ports:
        states = [f"{hca.name}:{port.number} {port.state}" for hca, port in ports if isinstance(port.state, str)]
        return f"{entry.text!r} fits only ports that are not ACTIVE: {few(states) or 'their state is not known'}"
    there = few([str(port.number) for port in named[0].ports])
    return f"{entry.text!r} names port {entry.port}, and {named[0].name} has {there or 'none'}"


def interface_remarks(value: str, netdevs: Sequence[Netdev], found: Interfaces, hcas: Sequence[Hca]) -> tuple[str, ...]:
    """What to know of NCCL_SOCKET_IFNAME=`value` among a node's interfaces, of which `found` were taken."""
    if found.ignored:
        return ()
    selector = parse_selector(value, MOST_NAMES)
    names = [one.name for one in netdevs]
    behind = {hca.name: port.netdev for hca in hcas for port in hca.ports if isinstance(port.netdev, str)}
    lines = []
    for entry in selector.entries:
        if entry.text in found.unmatched:
            off = [name for name in found.not_running if matches(selector, entry, name)]
            down = f"{entry.text!r} fits only interfaces that are down or have no address: {few(off)}"
            lines.append(down if off else _unmatched(selector, entry, names, behind, "interface"))
        if entry.port != -1:
            lines.append(f"{entry.text!r}: an interface has no ports, so what follows the colon is not read")
    return (*_dropped(found.dropped, MOST_NAMES), *lines, *_prefixes(selector, names))


def _unmatched(selector: Selector, entry: Entry, names: Sequence[str], others: Mapping[str, str], what: str) -> str:
    """Why an entry fits no name of the node: the first reason that would explain it."""
    name, text = entry.name, repr(entry.text)
    trimmed = name.strip()
    if name != trimmed and _fits(selector, trimmed, names):
        return f"{text} has a blank {'before' if name[0].isspace() else 'after'} the name, and NCCL trims nothing"
    bare = name.strip(QUOTES)
    if bare != name:
        return f"{text} holds a quote, which NCCL takes for part of the name"
    if name[0] in "^=":
        return f"{text}: '^' and '=' count at the beginning of the whole list only, '^' before '='"
    if name in others:
        return f"{text} is the {'interface' if what == 'HCA' else 'HCA'} of {others[name]}, and the list names {what}s"
    alike = [one for one in names if _same(selector, one.lower(), name.lower())]
    if alike:
        return f"{text}: case counts, and here is {few(alike)}"
    longer = [one for one in names if one.startswith(name)]
    if selector.exact and longer:
        return f"{text}: after '=' only whole names count, and here is {few(longer)}"
    if len(name) == NAME_SIZE:
        return f"{text} is longer than the {NAME_SIZE} characters that NCCL keeps of a name"
    return f"{text} fits no {what} here"


def _fits(selector: Selector, name: str, names: Sequence[str]) -> bool:
    return any(_same(selector, one, name) for one in names)


def _same(selector: Selector, whole: str, name: str) -> bool:
    return bool(name) and (whole == name if selector.exact else whole.startswith(name))


def _prefixes(selector: Selector, names: Sequence[str]) -> Iterator[str]:
    """Names that are whole ones and begin others' too, where "=" does not lead."""
    for entry in () if selector.exact else selector.entries:
        longer = [one for one in names if one != entry.name and one.startswith(entry.name)]
        if entry.name in names and longer:
            yield f"without '=' {entry.name!r} also fits {few(longer)}"


def _dropped(dropped: Sequence[str], most: int) -> Iterator[str]:
    if dropped:
        yield f"NCCL reads {most} entries of a list; not read: {few([repr(one) for one in dropped])}"


def _beyond(selection: Selection) -> Iterator[str]:
    if selection.beyond:
        left = few([f"{name}:{port}" for name, port in selection.beyond])
        yield f"NCCL keeps {MOST_DEVICES} devices, in the order in which verbs lists them; left out: {left}"


def few(names: Sequence[str]) -> str:
    """A few names of many."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
