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
from fabricdoc.nccl.ll128 import FUNCTIONS, ll128_in_row
from fabricdoc.nccl.paths import PathsSeen, plain
from fabricdoc.nccl.reader import Event, LogReader
from fabricdoc.nccl.records import Channel, ChoiceMade
from fabricdoc.nccl.typed import number, record_of

__all__ = ["MAX_CHOICES", "MAX_WARNINGS", "op_name", "plain", "read_proof"]

Groups = Mapping[str, str]
MAX_WARNINGS = 20
MAX_CHOICES = 4096
MAX_NAMES = 256

_PER_RANK = ("all_gather", "reduce_scatter")
"""Ops whose 2.24+ TUNING line counts one rank's part: count x type size (enqueue.cc, 2.24.3 to 2.30.7)."""


@lru_cache(maxsize=64)
def op_name(function: str) -> str:
    """NCCL's function name as ours: AllReduce -> all_reduce, ReduceScatter -> reduce_scatter."""
    spaced = plain(function, 40).replace("AlltoAll", "AllToAll")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", spaced).lower()


def read_proof(log: str | Iterable[str], rank: int = 0) -> Proof:
    """What one rank's log proves (nccl_facts 5); never raises on any text.

    grade "seen": the network is named and choices or channels are there; "echoed": only variables as read.
    A choice's size is nccl-tests' (all_gather: the total output). Only rank 0 logs choices, at TUNING; up to
    2.23 their lines tell no channels (0 here), and 2.18 and 2.19 have none. `rank` names the log's rank where the log
    itself does not.
    """
    reading = _Reading(event_table())
    for event in LogReader(log):
        reading.take(event)
    return reading.proof(rank)


class _Reading:
    """What was read so far; `take` one event at a time, `proof` at the end."""

    def __init__(self, table: EventTable) -> None:
        self._table = table
        self._paths = PathsSeen()
        self._version = ""
        self._network = self._assigned = ""
        self._no_network = "the log has no line that names the network"
        self._channels = False
        self._ring_direct: bool | None = None
        self._worlds: dict[int, int] = {}
        self._choices: dict[tuple[str, int, bool], tuple[str, str, int]] = {}
        self._ll128: dict[str, bool] = {}
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
            "ib.detail": self._take_detail,
            "ib.vdev": self._take_virtual,
            "gdr.hca": self._take_direct,
            "chan.net": self._take_channel,
            "chan.net.old": self._take_channel,
            "chan.count": self._take_count,
            "gdr.ring": self._take_ring,
            "comm.shape": self._take_world,
            "comm.init": self._take_world,
            "tune.op": self._take_choice,
            "tune.op.old": self._take_choice,
            "tune.table": self._take_table,
            "prefix.warn": self._take_warning,
        }

    def take(self, event: Event) -> None:
        """Note what one event says."""
        if taker := self._takers.get(event.name):
            taker(event.groups, event)

    def _take_version(self, groups: Groups, _event: Event) -> None:
        self._version = plain(groups["ver"] + groups.get("suffix", ""), 40)

    def _take_variable(self, groups: Groups, event: Event) -> None:
        name = groups.get("name") or {"env.ifname": "NCCL_SOCKET_IFNAME", "env.hca": "NCCL_IB_HCA"}[event.name]
        if len(name) <= 128 and (name in self._variables or len(self._variables) < MAX_NAMES):
            self._variables[name] = plain(groups["value"], 1023)

    def _take_network(self, groups: Groups, _event: Event) -> None:
        self._network = plain(groups["net"], 100)

    def _take_assigned(self, groups: Groups, _event: Event) -> None:
        if groups["how"] == "Assigned":
            self._assigned = plain(groups["net"], 100)

    def _take_no_network(self, _groups: Groups, event: Event) -> None:
        self._no_network = f"NCCL found no usable network: {plain(event.message)}"

    def _take_sockets(self, groups: Groups, _event: Event) -> None:
        self._paths.take_sockets(groups["ifs"])

    def _take_hcas(self, groups: Groups, _event: Event) -> None:
        self._paths.take_hcas(self._table.parts("ib.dev", groups["devs"]))

    def _take_detail(self, groups: Groups, _event: Event) -> None:
        self._paths.take_detail(groups)

    def _take_virtual(self, groups: Groups, _event: Event) -> None:
        self._paths.take_virtual(groups)

    def _take_direct(self, groups: Groups, event: Event) -> None:
        self._paths.take_direct(groups, event.message)

    def _take_channel(self, _groups: Groups, event: Event) -> None:
        channel = record_of(event)
        if isinstance(channel, Channel):
            self._channels = True
            self._paths.take_channel(channel)

    def _take_count(self, _groups: Groups, _event: Event) -> None:
        self._channels = True

    def _take_ring(self, groups: Groups, _event: Event) -> None:
        self._channels = True
        self._ring_direct = groups["gdr"] == "1"

    def _take_world(self, groups: Groups, _event: Event) -> None:
        ranks, rank = number(groups["n"]), number(groups["rank"])
        if ranks and rank is not None and len(self._worlds) < MAX_NAMES:
            self._worlds[ranks] = rank

    def _take_choice(self, _groups: Groups, event: Event) -> None:
        """Note a choice; the last one for an op and size wins. Sizes and counts no NCCL can mean are left out."""
        made = record_of(event)
        if not isinstance(made, ChoiceMade):
            return
        op, channels = op_name(made.function or "unknown"), made.channels or 0
        key = (op, made.size, made.channels is not None and op in _PER_RANK)
        if made.size < 2**42 and 0 <= channels <= 1024 and (key in self._choices or len(self._choices) < MAX_CHOICES):
            self._choices[key] = (plain(made.algorithm, 40), plain(made.protocol, 40), channels)

    def _take_table(self, groups: Groups, _event: Event) -> None:
        """A function has a row per group of algorithms: LL128 is on when one of them has it on."""
        op, on = FUNCTIONS[groups["func"]], ll128_in_row(groups["cells"])
        if on is not None:
            self._ll128[op] = self._ll128.get(op, False) or on

    def _take_warning(self, groups: Groups, _event: Event) -> None:
        if len(self._warnings) < MAX_WARNINGS and (message := plain(groups["msg"]).strip()):
            self._warnings[message] = None

    def proof(self, rank: int) -> Proof:
        """The proof of everything taken; `rank` is the one the log is of."""
        network = self._network or self._assigned or self._paths.via()
        choices = self._sized_choices()
        seen = bool(network) and (self._channels or bool(choices))
        return Proof(
            grade="seen" if seen else "echoed" if self._variables else "none",
            version=self._version or Unknown(unknown="the log has no version line"),
            network=network or Unknown(unknown=self._no_network),
            interfaces=self._paths.interfaces(network),
            gpu_direct=self._gpu_direct(),
            choices=choices,
            variables_read=self._variables,
            warnings=tuple(self._warnings),
            hcas=self._paths.hcas(self._rank(rank), network),
            channels=self._paths.channels(self._rank(rank)),
            ll128=self._ll128,
        )

    def _rank(self, rank: int) -> int:
        """The rank in the largest communicator, else the one the caller took the log for."""
        return self._worlds[max(self._worlds)] if self._worlds else rank

    def _gpu_direct(self) -> Fact[bool]:
        """What the channel lines say. The ring line alone proves only a no.

        NCCL starts from "GDR 1" and clears it while it connects the ring's links: where trees connected first it stays,
        over sockets too (transport/generic.cc; seen with 2.28.9 on socket rails).
        """
        direct = self._paths.direct()
        if direct is not None:
            return direct
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
