"""The tools that users run today, in a healthy guest, against the probe: it knows all that they tell, and more.

Their output goes the way of `scan --from`. show_gids, ibdev2netdev, mlnx_qos and nvidia-smi come with drivers that no
virtual machine has: their formats are tested with recorded output.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabricdoc.dumps import Replay, read_dumps, read_text
from fabricdoc.model.fabric import Gid, Hca, Host, Netdev, Node, PcieFunction, Port
from tests.labs.guest import Guest
from tests.labs.lab import RoceLab
from tests.labs.seed import HCAS, PORTS
from tests.roce import seeing
from tests.roce.telling import Facts, facts, kind

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

NETDEVS = ("mgmt0", *PORTS)
COMMANDS = (
    "ibv_devinfo -v",
    *(f"rdma -j {what}" for what in ("dev", "link", "statistic")),
    *(f"ip -j -d {what}" for what in ("addr", "link", "route", "-6 route", "rule", "-6 rule", "neigh")),
    *(f"ethtool {option}{name}" for option in ("", "-i ", "-S ") for name in NETDEVS),
    "lspci -D -nn -vvv",
    "sysctl -a",
    "lsmod",
    "ulimit -l",
    "uname -a",
    "cat /etc/os-release",
    "cat /etc/machine-id",
    "ls /dev/infiniband",
)
TOOLS = {
    "ibv_devinfo", "rdma", "ip", "ip route", "ethtool", "lspci", "sysctl", "lsmod", "ulimit", "uname", "os-release",
    "machine-id", "dev-infiniband",
}  # fmt: skip
OTHERWISE = {
    "host.memlock": "the limit holds for a shell of root's too, the kernel holds none to it that may lock memory",
    "neighbours.state": "it ages by itself",
    "counters.values": "they grow; and the probe leaves the values of single rings out (virtio has no others)",
}
"""Facts that the two may tell in another way, and why."""
NO_PLACE = {
    ("netdev", "connector"): "the kind of plug (virtio: Other) decides nothing about a fabric",
    ("pcie", "buses"): "they become the bridges above a function",
}
"""What a tool tells and the model has no field for."""
MORE = {
    "hcas.ports.gids.netdev", "netdevs.carrier_changes", "netdevs.persistence", "pcie.aer.correctable",
    "pcie.aer.fatal", "pcie.numa_node", "host.bios", "host.clock", "host.firewall", "host.hotplug_armed",
    "host.host_network", "host.ibverbs_providers", "host.iommu", "host.kernel_log", "host.libibverbs", "host.libnccl",
    "host.memory_available", "host.nccl_conf", "host.product", "host.shm_bytes", "container.kind",
}  # fmt: skip
"""What no tool of these tells."""


@pytest.fixture(scope="module")
def known(booted: RoceLab) -> Node:
    """The guest as the probe knows it now, after all that was done to it and undone."""
    fabric = booted.scan()
    assert seeing.told(fabric) == []
    return seeing.node(fabric, "alpha")


@pytest.fixture(scope="module")
def text(booted: RoceLab, known: Node) -> str:
    """What the tools say, after the scan."""
    return output(booted.alpha)


def output(guest: Guest) -> str:
    """What a guest's tools say, each below its command as a terminal shows it."""
    lines = "".join(f"echo '{guest.name}$ {words}'\n{words} 2>&1 || true\n" for words in COMMANDS)
    return guest.ask(lines)


@pytest.fixture(scope="module")
def replay(text: str, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    path: Path = tmp_path_factory.mktemp("tools") / "alpha.txt"
    path.write_text(text, encoding="utf-8")
    return read_dumps([path])


@pytest.fixture(scope="module")
def told(replay: Replay) -> Node:
    """The guest as its tools tell it."""
    (one,) = replay.nodes
    return one


def test_every_tool_is_there_and_every_line_of_it_is_read(text: str, replay: Replay) -> None:
    parts = read_text("alpha.txt", text).parts
    assert {part.tool for part in parts if part.told} == TOOLS
    assert replay.notes == ()


def test_the_probe_knows_what_the_tools_tell(told: Node, known: Node) -> None:
    theirs, ours = comparable(facts(told), known), facts(known)
    wrong = {path: (value, ours.get(path)) for path, value in theirs.items() if ours.get(path) != value}
    assert {path: values for path, values in wrong.items() if not excepted(path)} == {}
    assert len(theirs) > 200
    assert {kind(path) for path in theirs} > {f"hcas.ports.{name}" for name in ("active_mtu", "gids.gid", "rate_gbps")}


def comparable(theirs: Facts, known: Node) -> Facts:
    """What is about the fabric: lspci tells of every device and ethtool of every interface, the probe of HCAs'.

    A neighbour that was met after the scan is left out.
    """
    assert isinstance(known.pcie, tuple) and isinstance(known.neighbours, tuple)
    functions, counted = {one.address for one in known.pcie}, {*PORTS, *(f"{name}/1" for name in HCAS)}
    met = {one.ip for one in known.neighbours}
    subjects = {"pcie": functions, "counters": counted, "neighbours": met}
    return {
        path: value
        for path, value in theirs.items()
        if path[0] not in subjects or path[1].split()[0] in subjects[path[0]]
    }


def excepted(path: tuple[str, ...]) -> bool:
    return any(f"{kind(path)}.".startswith(f"{name}.") for name in OTHERWISE)


def test_the_functions_of_the_ports_and_the_bridges_above_are_among_lspcis(told: Node, known: Node) -> None:
    assert isinstance(known.pcie, tuple) and isinstance(told.pcie, tuple)
    ours = {one.address: one.upstream for one in known.pcie}
    assert len(ours) == 4
    assert ours.items() <= {one.address: one.upstream for one in told.pcie}.items()
    assert sorted(len(above) for above in ours.values()) == [0, 0, 1, 1]


def test_counters_of_both_are_the_same_ones(told: Node, known: Node) -> None:
    assert isinstance(known.counters, tuple) and isinstance(told.counters, tuple)
    theirs = {(one.subject, one.source): one for one in told.counters}
    for ours in known.counters:
        if ours.source != "port":
            later = theirs[ours.subject, ours.source]
            assert later.names == ours.names > 10
            assert all(later.values[name] >= value for name, value in ours.values.items())


def test_what_tools_tell_and_nobody_keeps_is_listed(replay: Replay) -> None:
    models: dict[str, Any] = {
        "hca": Hca, "port": Port, "gid": Gid, "netdev": Netdev, "pcie": PcieFunction, "host": Host,
    }  # fmt: skip
    paths = [path for path in replay.sources["alpha"] if path[0] in models and "altname" not in path]
    assert {(path[0], path[-1]) for path in paths if path[-1] not in models[str(path[0])].model_fields} == set(NO_PLACE)


def test_the_probe_knows_more(told: Node, known: Node) -> None:
    theirs = set(facts(told))
    more = {kind(path) for path in facts(known) if path not in theirs}
    assert more >= MORE
    # and what follows from it
    assert [(one.hca, one.index) for one in known.nccl_gids] == [(name, 1) for name in HCAS]
    assert known.host.memlock == -1 != told.host.memlock
