"""From a log to what the launch really did: the `Proof` of one rank.

It reports what the lines say and nothing else: what a log does not say is unknown with the reason. Everything
it takes over is bounded and printable, since a log is not trusted. Joining ranks is `merge`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.run import Choice, Proof
from fabricdoc.nccl.events import EventTable, event_table
from fabricdoc.nccl.reader import Event, LogReader

MAX_WARNINGS = 20
MAX_CHOICES = 4096
MAX_NAMES = 256
MAX_TEXT = 400

_OLD_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_OLD_PROTOCOLS = ("LL", "LL128", "SIMPLE")
_PER_RANK = ("all_gather", "reduce_scatter")
"""Ops whose 2.24+ TUNING line counts one rank's part: count x type size (enqueue.cc, 2.24.3 to 2.30.7)."""


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """`text` cut to `limit` characters, anything unprintable shown as "?"."""
    text = text[:limit]
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


@lru_cache(maxsize=64)
def op_name(function: str) -> str:
    """NCCL's function name as ours: AllReduce -> all_reduce, ReduceScatter -> reduce_scatter."""
    spaced = plain(function, 40).replace("AlltoAll", "AllToAll")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spaced).lower()


def read_proof(log: str | Iterable[str]) -> Proof:
    """What one rank's log proves (nccl_facts 5); never raises on any text.

    grade "seen": the network is named and choices or channels are there; "echoed": only variables as read.
    A choice's size is nccl-tests' (all_gather: the total output). Only rank 0 logs choices, at TUNING; up to
    2.23 their lines tell no channels (0 here), and 2.18 and 2.19 have none.
    """
    reading = _Reading(event_table())
    for event in LogReader(log):
        reading.take(event)
    return reading.proof()


class _Reading:
    """What was read so far; `take` one event at a time, `proof` at the end."""

    def __init__(self, table: EventTable) -> None:
        self._table = table
        self._version = ""
        self._network = self._assigned = self._via = ""
        self._no_network = "the log has no line that names the network"
        self._listed: dict[str, tuple[str, ...]] = {}
        self._virtual: dict[int, str] = {}
        self._devices: set[int] = set()
        self._channels = False
        self._direct: bool | None = None
        self._ring_direct: bool | None = None
        self._worlds: set[int] = set()
        self._choices: dict[tuple[str, int, bool], tuple[str, str, int]] = {}
        self._variables: dict[str, str] = {}
        self._warnings: dict[str, None] = {}
        self._takers = {
            "version": self._take_version,
            "env.int": self._take_variable,
            "env.str": self._take_variable,
            "env.ifname": self._take_variable,
            "env.hca": self._take_variable,
            "net.used": self._take_network,
            "net.init": self._take_assigned,
            "net.noneleft": self._take_no_network,
            "sock.using": self._take_sockets,
            "ib.using": self._take_hcas,
            "ib.vdev": self._take_virtual,
            "chan.net": self._take_channel,
            "chan.count": self._take_count,
            "gdr.ring": self._take_ring,
            "comm.shape": self._take_world,
            "comm.init": self._take_world,
            "tune.op": self._take_choice,
            "tune.op.old": self._take_old_choice,
            "prefix.warn": self._take_warning,
        }

    def take(self, event: Event) -> None:
        """Note what one event says."""
        if taker := self._takers.get(event.name):
            taker(event.groups, event)

    def _take_version(self, groups: Mapping[str, str], _event: Event) -> None:
        self._version = plain(groups["ver"] + groups.get("suffix", ""), 40)

    def _take_variable(self, groups: Mapping[str, str], event: Event) -> None:
        name = groups.get("name") or {"env.ifname": "NCCL_SOCKET_IFNAME", "env.hca": "NCCL_IB_HCA"}[event.name]
        if len(name) <= 128 and (name in self._variables or len(self._variables) < MAX_NAMES):
            self._variables[name] = plain(groups["value"], 1023)

    def _take_network(self, groups: Mapping[str, str], _event: Event) -> None:
        self._network = plain(groups["net"], 100)

    def _take_assigned(self, groups: Mapping[str, str], _event: Event) -> None:
        if groups["how"] == "Assigned":
            self._assigned = plain(groups["net"], 100)

    def _take_no_network(self, _groups: Mapping[str, str], event: Event) -> None:
        self._no_network = f"NCCL found no usable network: {plain(event.text.rpartition('NCCL WARN ')[2])}"

    def _take_sockets(self, groups: Mapping[str, str], _event: Event) -> None:
        names = re.findall(r" \[\d+\]([^\s:]+)", groups["ifs"])
        self._listed["socket"] = tuple(plain(name, 64) for name in names[:MAX_NAMES])

    def _take_hcas(self, groups: Mapping[str, str], _event: Event) -> None:
        parts = self._table.parts("ib.dev", groups["devs"])
        self._listed["ib"] = tuple(plain(part["name"], 64) for part in parts[:MAX_NAMES])

    def _take_virtual(self, groups: Mapping[str, str], _event: Event) -> None:
        if len(self._virtual) < MAX_NAMES:
            self._virtual[int(groups["i"])] = plain(groups["name"], 256)

    def _take_channel(self, groups: Mapping[str, str], _event: Event) -> None:
        self._via, self._channels = plain(groups["net"], 100), True
        if len(self._devices) < MAX_NAMES:
            self._devices.add(int(groups["dev"]))
        self._direct = "/GDRDMA" in groups["flags"] or bool(self._direct)

    def _take_count(self, _groups: Mapping[str, str], _event: Event) -> None:
        self._channels = True

    def _take_ring(self, groups: Mapping[str, str], _event: Event) -> None:
        self._channels = True
        self._ring_direct = groups["gdr"] == "1"

    def _take_world(self, groups: Mapping[str, str], _event: Event) -> None:
        if len(self._worlds) < MAX_NAMES:
            self._worlds.add(int(groups["n"]))

    def _take_choice(self, groups: Mapping[str, str], _event: Event) -> None:
        channels = int(groups["hi"]) - int(groups["lo"]) + 1
        op = op_name(groups["func"])
        self._choose(op, int(groups["bytes"]), groups["algo"], groups["proto"], channels, per_rank=op in _PER_RANK)

    def _take_old_choice(self, groups: Mapping[str, str], _event: Event) -> None:
        algorithm, protocol = int(groups["algo"]), int(groups["proto"])
        if algorithm < len(_OLD_ALGORITHMS) and protocol < len(_OLD_PROTOCOLS):
            names = _OLD_ALGORITHMS[algorithm], _OLD_PROTOCOLS[protocol]
            self._choose(op_name(groups.get("func", "unknown")), int(groups["bytes"]), *names, 0, per_rank=False)

    def _choose(self, op: str, size: int, algorithm: str, protocol: str, channels: int, *, per_rank: bool) -> None:
        """Note a choice; the last one for an op and size wins. Sizes and counts no NCCL can mean are left out."""
        key = (op, size, per_rank)
        if size < 2**42 and 0 <= channels <= 1024 and (key in self._choices or len(self._choices) < MAX_CHOICES):
            self._choices[key] = (plain(algorithm, 40), plain(protocol, 40), channels)

    def _take_warning(self, groups: Mapping[str, str], _event: Event) -> None:
        if len(self._warnings) < MAX_WARNINGS and (message := plain(groups["msg"]).strip()):
            self._warnings[message] = None

    def proof(self) -> Proof:
        """The proof of everything taken."""
        network = self._network or self._assigned or self._via
        choices = self._sized_choices()
        seen = bool(network) and (self._channels or bool(choices))
        return Proof(
            grade="seen" if seen else "echoed" if self._variables else "none",
            version=self._version or Unknown(unknown="the log has no version line"),
            network=network or Unknown(unknown=self._no_network),
            interfaces=self._interfaces(network),
            gpu_direct=self._gpu_direct(),
            choices=choices,
            variables_read=self._variables,
            warnings=tuple(self._warnings),
        )

    def _gpu_direct(self) -> Fact[bool]:
        """What the channel lines say. The ring line alone proves only a no.

        NCCL starts from "GDR 1" and clears it while it connects the ring's links: where trees connected first it stays,
        over sockets too (transport/generic.cc; seen with 2.28.9 on socket rails).
        """
        if self._direct is not None:
            return self._direct
        if self._ring_direct is False:
            return False
        return Unknown(unknown="the log has no line of a channel through the network")

    def _sized_choices(self) -> tuple[Choice, ...]:
        """Choices with whole sizes. A per-rank size is left out unless the log names exactly one group size."""
        ranks = next(iter(self._worlds)) if len(self._worlds) == 1 else 0
        sized = []
        for (op, size, per_rank), (algorithm, protocol, channels) in self._choices.items():
            whole = size * ranks if per_rank else size
            if not per_rank or 0 < ranks < 2**20:
                sized.append(Choice(op=op, size=whole, algorithm=algorithm, protocol=protocol, channels=channels))
        return tuple(sized)

    def _interfaces(self, network: str) -> tuple[str, ...]:
        """Netdevs (sockets) or HCAs that channels run over; all that NCCL listed where that can't be told."""
        listed = self._listed.get("socket" if network.lower() == "socket" else "ib", ())
        names = dict(enumerate(listed))
        if network.lower() != "socket":
            names |= self._virtual
        if not self._devices or not self._devices <= names.keys():
            return tuple(dict.fromkeys(listed))
        used = [part for device in sorted(self._devices) for part in names[device].split("+")]
        return tuple(dict.fromkeys(used))
