"""What one rank's log shows of its HCAs and channels: which port, how fast, GPUDirect or staged through the host.

Takes events one by one; `proof` asks at the end. Names come from NCCL's own lists, so a channel over a fused device
names all its members. A channel whose index no list explains has no names, never guessed ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.paths import ChannelPath, HcaSeen
from fabricdoc.nccl.records import Channel
from fabricdoc.nccl.typed import number

MOST_NAMES = 256
MOST_CHANNELS = 4096
Memory = Literal["gpu-direct", "gpu-direct-dmabuf", "host-staged"]

NO_SPEED = Unknown(unknown="the log has no line with the port's speed (NCCL_DEBUG_SUBSYS must hold NET)")
NO_DIRECT = Unknown(unknown="the log has no line on GPUDirect for this HCA (NCCL_DEBUG_SUBSYS must hold NET)")


def plain(text: str, limit: int = 400) -> str:
    """`text` cut to `limit` characters, anything unprintable shown as "?"."""
    text = text[:limit]
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


@dataclass(frozen=True, slots=True)
class _Port:
    index: int
    name: str
    port: int


def _port(part: Mapping[str, str]) -> _Port:
    return _Port(number(part["i"]) or 0, plain(part["name"], 256), number(part["port"]) or 0)


class PathsSeen:
    """The HCAs, sockets and channels of one rank so far."""

    def __init__(self) -> None:
        self._ports: tuple[_Port, ...] = ()
        self._sockets: tuple[str, ...] = ()
        self._virtual: dict[int, str] = {}
        self._mbps: dict[tuple[str, int], int] = {}
        self._direct: dict[str, bool] = {}
        self._dmabuf: set[str] = set()
        self._channels: dict[Channel, None] = {}
        self.devices: set[int] = set()

    def take_hcas(self, parts: tuple[Mapping[str, str], ...]) -> None:
        """NCCL's list of HCAs, each as name (members of a fused one joined by "+"), port and index."""
        self._ports = tuple(
            _Port(number(part["i"]) or 0, plain(part["name"], 256), number(part["port"]) or 0)
            for part in parts[:MOST_NAMES]
        )

    def take_sockets(self, interfaces: str) -> None:
        """NCCL's list of socket interfaces, as its line has it."""
        names = re.findall(r" \[\d+\]([^\s:]+)", interfaces)
        self._sockets = tuple(plain(name, 64) for name in names[:MOST_NAMES])

    def take_detail(self, groups: Mapping[str, str]) -> None:
        """A port's speed in Mbit/s."""
        if len(self._mbps) < MOST_NAMES and (mbps := number(groups["mbps"])):
            self._mbps[plain(groups["name"], 64), number(groups["port"]) or 0] = mbps

    def take_virtual(self, groups: Mapping[str, str]) -> None:
        """A device as channels count it since 2.24: one HCA, or several fused."""
        if len(self._virtual) < MOST_NAMES:
            self._virtual[number(groups["i"]) or 0] = plain(groups["name"], 256)

    def take_direct(self, groups: Mapping[str, str], text: str) -> None:
        """The NIC's half of the decision on GPUDirect."""
        if len(self._direct) < MOST_NAMES:
            name = plain(groups["name"], 256)
            self._direct[name] = groups["state"].lower() == "enabled"
            if "(DMABUF)" in text:
                self._dmabuf.add(name)

    def take_channel(self, channel: Channel) -> None:
        """A channel through the network."""
        if channel.device is not None and len(self.devices) < MOST_NAMES:
            self.devices.add(channel.device)
        if len(self._channels) < MOST_CHANNELS:
            self._channels[channel] = None

    def direct(self) -> bool | None:
        """Whether any channel uses GPUDirect; None when no channel was seen."""
        return any(channel.gpu_direct for channel in self._channels) if self._channels else None

    def via(self) -> str:
        """The network of the last channel."""
        return plain(next(reversed(self._channels)).network, 100) if self._channels else ""

    def interfaces(self, network: str) -> tuple[str, ...]:
        """Netdevs (sockets) or HCAs that channels run over; all that NCCL listed where that can't be told."""
        listed = self._sockets if network.lower() == "socket" else tuple(port.name for port in self._ports)
        names = self._names(network)
        if not self.devices or not self.devices <= names.keys():
            return tuple(dict.fromkeys(listed))
        used = [part for device in sorted(self.devices) for part in names[device].split("+")]
        return tuple(dict.fromkeys(used))

    def _names(self, network: str) -> dict[int, str]:
        """What a channel's device index stands for."""
        if network.lower() == "socket":
            return dict(enumerate(self._sockets))
        return {port.index: port.name for port in self._ports} | self._virtual

    def hcas(self, rank: int, network: str) -> tuple[HcaSeen, ...]:
        """The HCAs NCCL listed, in its order; none where it ran over sockets without listing any."""
        socket = network.lower() == "socket"
        used = set() if socket else set(self._over(network))
        found: dict[tuple[str, int], HcaSeen] = {}
        for port in self._ports:
            for name in port.name.split("+"):
                found[name, port.port] = HcaSeen(
                    rank=rank,
                    name=name,
                    port=port.port,
                    gbps=self._gbps(name, port.port),
                    used=name in used,
                    gpu_direct=self._direct.get(port.name, self._direct.get(name, NO_DIRECT)),
                )
        return tuple(found.values())

    def _over(self, network: str) -> tuple[str, ...]:
        names = self._names(network)
        return tuple(part for device in self.devices for part in names.get(device, "").split("+"))

    def _gbps(self, name: str, port: int) -> Fact[float]:
        mbps = self._mbps.get((name, port))
        return NO_SPEED if mbps is None else mbps / 1000

    def channels(self, rank: int) -> tuple[ChannelPath, ...]:
        """Every network channel as its line shows it, in the order of the log."""
        return tuple(self._path(rank, channel) for channel in self._channels)

    def _path(self, rank: int, channel: Channel) -> ChannelPath:
        name = self._names(channel.network).get(-1 if channel.device is None else channel.device, "")
        return ChannelPath(
            rank=rank,
            channel=channel.number,
            peer=channel.source if channel.direction == "receive" else channel.target,
            direction="receive" if channel.direction == "receive" else "send",
            connection="point-to-point" if channel.connection else "collective",
            network=plain(channel.network, 100),
            over=tuple(name.split("+")) if name else (),
            memory=self._memory(channel, name),
        )

    def _memory(self, channel: Channel, name: str) -> Memory:
        if not channel.gpu_direct:
            return "host-staged"
        return "gpu-direct-dmabuf" if name in self._dmabuf else "gpu-direct"
