"""All files read into one `Case`: each file's material, nodes given one name each, everything in order.

What can't be read is noted and never a reason to stop. Judges nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fabricdoc.errors import InputError
from fabricdoc.explain.case import Case
from fabricdoc.explain.documents import kind_of
from fabricdoc.explain.files import Given
from fabricdoc.explain.logs import read_log
from fabricdoc.explain.quoting import quote
from fabricdoc.explain.seen import Material, Seen, Set, Spot
from fabricdoc.explain.sources import Text, opened
from fabricdoc.explain.texts import LONGEST_DUMP, read_short

MOST_WORDS = 16
"""Words of a file's name that a host's may have."""
_JOINTS = re.compile(r"[-_. ]+")


def read_case(given: Sequence[Given]) -> Case:
    """Everything that the files tell."""
    return case_of([read_file(one) for one in given])


def read_file(given: Given) -> Material:
    """What one file tells; `note` says what could not be read."""
    material = Material(given.name, given.node)
    try:
        text = opened(given)
        kind = kind_of(text.start)
        if kind and kind != "fabric":
            material.note = f"is a document of fabricdoc's own ({kind}), no log and no dump"
            return material
        if not kind:
            read_log(material, text.blocks)
        if text.whole is not None:
            read_short(material, text.whole)
            quote(material, text.whole)
        material.note = text.note or _too_long(material, text)
    except InputError as error:
        material.note = ": ".join(filter(None, (error.message.removeprefix(f"{given.path}: "), error.fix)))
    return material


def _too_long(material: Material, text: Text) -> str:
    """What is said of a file that is too long to be looked at as settings or a dump, and is no log either."""
    if material.kinds or (text.whole is not None and len(text.whole) <= LONGEST_DUMP):
        return ""
    return f"longer than {LONGEST_DUMP >> 20} MiB: read as a log alone, not as settings or a dump; name its parts"


def case_of(materials: Iterable[Material]) -> Case:
    """Materials put together, each piece with the node it belongs to."""
    listed = list(materials)
    names = _Names(listed)
    case = Case()
    for one in listed:
        case.files.append(one)
        one.headed = _headed(one)
        case.seen += [_seen(seen, one, names) for seen in one.seen]
        case.sets += [_set(each, one, names) for each in one.sets]
        case.facts += [replace(fact, spot=_placed(fact.spot, one, names)) for fact in one.facts]
        case.rows += [replace(row, spot=_placed(row.spot, one, names)) for row in one.rows]
        case.signs += [replace(sign, spot=_placed(sign.spot, one, names)) for sign in one.signs]
    case.index()
    return case


def _headed(one: Material) -> dict[str, str]:
    """Host -> node, for hosts whose lines all stand under one heading where nobody else speaks."""
    places: dict[str, set[str]] = defaultdict(set)
    for seen in one.seen if one.under else ():
        if seen.host:
            places[seen.host].add(one.under.get(seen.spot.line, ""))
    crowd = Counter(node for nodes in places.values() for node in nodes)
    alone = {host: next(iter(nodes)) for host, nodes in places.items() if len(nodes) == 1}
    return {host: node for host, node in alone.items() if node and crowd[node] == 1}


class _Names:
    """One name for each node: what its files' names say; for a log that names nobody, the host that speaks in it.

    A host that other files are named by is that node, whatever the log's own name says.
    """

    def __init__(self, materials: Sequence[Material]) -> None:
        speaking = _by_plain({host for one in materials for host in one.hosts if len(host) > 2})
        others = {each.node for each in materials if each.node and not each.hosts}
        crowd = Counter(host for one in materials for host in one.hosts)
        self._of_file: dict[str, str] = {}
        for one in materials:
            if len(one.hosts) == 1:
                host = next(iter(one.hosts))
                short = host.split(".")[0]
                alone = len(one.node) == 1 and one.node not in others and crowd[host] == 1
                own = "" if alone else one.node  # a.log, of a host that speaks in no other file, is of no node called a
                known = next((name for name in (host, short) if name in others), "")
                self._of_file[one.name] = known or _host_in(one, _by_plain([host])) or own or host
            else:
                self._of_file[one.name] = (_host_in(one, speaking) or one.node) if not one.hosts else ""

    def of(self, file: str, host: str = "") -> str:
        """The node of a line of a file, spoken by a host."""
        return self._of_file.get(file) or host


def _by_plain(hosts: Iterable[str]) -> dict[str, str]:
    """Hosts without their domains, by their words; the host with the longest name for each."""
    short = (
        (_plain(host.split(".")[0]), host.split(".")[0]) for host in sorted(hosts, key=lambda one: (len(one), one))
    )
    return dict(short)


def _plain(name: str) -> str:
    return _JOINTS.sub("-", name.lower())


def _host_in(one: Material, hosts: Mapping[str, str]) -> str:
    """The host whose name a file's name holds as its own words, whatever joins them; "" where it says more, or less."""
    words = _plain(one.name.rpartition("/")[2]).split("-")
    node = _plain(one.node)
    ends = ((start, end) for start in range(len(words)) for end in range(start + 1, start + 1 + MOST_WORDS))
    runs = ("-".join(words[start:end]) for start, end in ends)
    found = [run for run in runs if run in hosts and node in run]
    return hosts[max(found, key=len)] if found else ""


def _placed(spot: Spot, one: Material, names: _Names) -> Spot:
    own = one.under.get(spot.line) or (spot.node if "fabric document" in one.kinds else "")
    return _at(spot, own or names.of(one.name) or spot.node)


def _at(spot: Spot, node: str) -> Spot:
    """The same place, of a node; many thousands are made, `replace` would take most of the time."""
    return spot if spot.node == node else Spot(spot.file, spot.line, spot.text, node, spot.quote)


def _seen(seen: Seen, one: Material, names: _Names) -> Seen:
    spot = _at(seen.spot, _spoken(seen.spot, seen.host, one, names))
    if spot is seen.spot:
        return seen
    return Seen(seen.event, spot, seen.groups, seen.use, seen.level, seen.message, seen.host, seen.process, seen.time)


def _set(each: Set, one: Material, names: _Names) -> Set:
    host = each.process[1] if each.process else ""
    return replace(each, spot=_at(each.spot, _spoken(each.spot, host, one, names)))


def _spoken(spot: Spot, host: str, one: Material, names: _Names) -> str:
    """The node of a line: a host that speaks under one heading alone is the node which that names."""
    if one.under and (node := one.headed.get(host, "") if host else one.under.get(spot.line, "")):
        return node
    return names.of(one.name, host)
