"""What an LLDP daemon on this node heard: lldpd, asked by its own lldpcli, and only where its socket is there.

The one program a scan starts; it runs in a forked child with a deadline and changes nothing (`show neighbors`). Read is
`json0`, in which every level is a list and every scalar an object with "value" (lldpd, tests/integration). Where the
socket is not ours to open, the neighbours are unknown, with lldpcli's own words. `lldp` listens where nobody else does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

from .child import Say
from .facts import MAX_REASON, unknown
from .lldp_frames import MAX_TEXT, text

SOCKETS = ("/run/lldpd.socket", "/var/run/lldpd.socket", "/run/lldpd/lldpd.socket")
PROGRAMS = ("/usr/sbin/lldpcli", "/usr/bin/lldpcli", "/usr/local/sbin/lldpcli", "/sbin/lldpcli")
WORDS = ("-f", "json0", "show", "neighbors")
LIMIT_S = 3.0
END_S = 0.5
MAX_JSON = 1 << 20
MAX_NEIGHBOURS = 1024
NO_DAEMON = unknown("no lldpd runs here; `--lldp` listens without one")


def is_there(root: str = "") -> bool:
    """Whether an lldpd can be asked: its socket is there."""
    return any(os.access(root + path, os.F_OK) for path in SOCKETS)


def ask(say: Say, root: str = "", limit_s: float = LIMIT_S) -> None:
    """Say {"lldp": neighbours or why they are unknown}; raises OSError and ValueError."""
    import subprocess

    program = next((root + path for path in PROGRAMS if os.access(root + path, os.X_OK)), "")
    if not program:
        say({"lldp": unknown("lldpd runs, but there is no lldpcli to ask it with")})
        return
    plain = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            [program, *WORDS],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.1, limit_s - END_S),
            env=plain,
            check=False,
        )
    except subprocess.TimeoutExpired:
        say({"lldp": unknown(f"lldpcli gave no answer within {limit_s - END_S:g} s")})
        return
    if done.returncode:
        last = text(done.stderr[-MAX_REASON:].strip().rpartition(b"\n")[2])
        say({"lldp": unknown(f"lldpcli ended with {done.returncode}: {last}")})
        return
    say({"lldp": neighbours(done.stdout)})


def from_said(said: dict[str, Any], reason: str) -> Any:
    """The fact from what the child said; without an lldpd nobody was asked."""
    found = said.get("lldp")
    if found is None:
        return unknown(reason) if reason else NO_DAEMON
    return found


def neighbours(data: bytes) -> Any:
    """model.fabric.LldpNeighbour of every neighbour in lldpcli's json0; raises ValueError for what is no JSON."""
    if len(data) > MAX_JSON:
        return unknown(f"lldpcli answered with {len(data)} bytes")
    try:
        document = json.loads(data)
    except RecursionError:
        return unknown("lldpcli's JSON is nested too deeply")
    entries = (entry for top in _many(document, "lldp") for entry in _many(top, "interface"))
    return [one for entry in islice(entries, MAX_NEIGHBOURS) for one in _neighbour(entry)]


def _neighbour(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The neighbour of one entry: none where it does not name itself."""
    chassis, port = (next(iter(_many(entry, part)), {}) for part in ("chassis", "port"))
    bridges = (one for one in _many(chassis, "capability") if one.get("type") == "Bridge")
    said = {
        "netdev": _word(entry.get("name")),
        "chassis": _value(chassis, "id"),
        "port": _value(port, "id"),
        "system": _value(chassis, "name"),
        "port_description": _value(port, "descr"),
        "bridge": any(one.get("enabled") is True for one in bridges),
    }
    if said["netdev"] and said["chassis"] and said["port"]:
        yield said


def _value(about: dict[str, Any], name: str) -> str:
    return _word(next(iter(_many(about, name)), {}).get("value"))


def _word(value: Any) -> str:
    return text(value[: 4 * MAX_TEXT].encode("utf-8", "replace")) if isinstance(value, str) else ""


def _many(about: Any, name: str) -> list[dict[str, Any]]:
    """The objects in a list under a name; none where there is something else."""
    found = about.get(name) if isinstance(about, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
