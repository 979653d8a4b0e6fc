"""The netlink requests of a lab, and what a kernel's refusals become. The kernel itself: tests/lab/test_lab.py."""

from __future__ import annotations

import errno
import sys
import time
from typing import Any

import pytest
from pyroute2.netlink.exceptions import NetlinkError

from fabricdoc.errors import ToolError
from fabricdoc.lab import LabSpec
from fabricdoc.lab.wiring import _explained, _make_rail, _set_up_node, _wait_until_up, wire

pytestmark = pytest.mark.unit


class Requests:
    """Notes each request; `refuse` maps a kind of thing to the errno its making gets."""

    def __init__(self, refuse: dict[str, int] | None = None, states: list[str] | None = None) -> None:
        self.made: list[tuple[Any, ...]] = []
        self.refuse = refuse or {}
        self.states = states or []
        self.absent: set[str] = set()

    def link(self, command: str, **words: Any) -> None:
        self._check(str(words.get("kind", "")))
        self.made.append((command, words))

    def addr(self, command: str, **words: Any) -> None:
        self.made.append(("addr", words["index"], words["address"], words["prefixlen"]))

    def tc(self, command: str, kind: str, index: int, handle: int, **words: Any) -> None:
        self._check(kind)
        self.made.append((kind, index, words["rate"], words["burst"]))

    def link_lookup(self, ifname: str) -> list[int]:
        """A netdev's index is the length of its name."""
        return [] if ifname in self.absent else [len(ifname)]

    def get_links(self) -> list[dict[str, str]]:
        state = self.states.pop(0)
        return [{"ifname": "enp1s0f0np0", "operstate": state}, {"ifname": "lo", "operstate": "UNKNOWN"}]

    def _check(self, kind: str) -> None:
        if kind in self.refuse:
            raise NetlinkError(self.refuse[kind], "no")


@pytest.mark.parametrize(("cabling", "peers"), [("straight", (0, 1)), ("crossed", (1, 0))])
def test_two_nodes_are_joined_end_to_end(cabling: str, peers: tuple[int, int]) -> None:
    requests = Requests()
    for rail in (0, 1):
        _make_rail(requests, LabSpec(cabling=cabling), rail, (10, 20))
    assert [words for _, words in requests.made] == [
        {
            "kind": "veth",
            "ifname": f"enp1s0f{rail}np{rail}",
            "net_ns_pid": 10,
            "peer": {"ifname": f"enp1s0f{peer}np{peer}", "net_ns_pid": 20},
        }
        for rail, peer in zip((0, 1), peers, strict=True)
    ]


def test_a_ring_is_cables_and_no_bridge() -> None:
    requests, spec = Requests(), LabSpec(nodes=("a", "b", "c"), cabling="ring")
    for rail in range(3):
        _make_rail(requests, spec, rail, (10, 20, 30))
    assert [
        (words["net_ns_pid"], words["ifname"], words["peer"]["net_ns_pid"], words["peer"]["ifname"])
        for _, words in requests.made
    ] == [
        (10, "enp1s0f0np0", 20, "enp1s0f1np1"),
        (20, "enp1s0f0np0", 30, "enp1s0f1np1"),
        (10, "enp1s0f1np1", 30, "enp1s0f0np0"),
    ]


def test_more_nodes_meet_at_a_bridge_and_both_ends_are_limited() -> None:
    requests = Requests()
    _make_rail(requests, LabSpec(nodes=("a", "b", "c"), rate_mbit=8), 1, (10, 20, 30))
    kinds = [
        words.get("kind") for command, words in (made for made in requests.made if len(made) == 2) if command == "add"
    ]
    assert kinds == ["bridge", "veth", "veth", "veth"]
    assert [made for made in requests.made if made[0] == "tbf"] == [("tbf", len("rail1node0"), 1_000_000, 262144)] * 3
    peers = [made[1]["peer"] for made in requests.made if made[0] == "add" and "peer" in made[1]]
    assert peers == [
        {"ifname": "enp1s0f1np1", "net_ns_pid": 10},
        {"ifname": "enp1s0f0np0", "net_ns_pid": 20},
        {"ifname": "enp1s0f1np1", "net_ns_pid": 30},
    ]


def test_a_node_gets_its_addresses_mtu_and_limit_before_its_ports_go_up() -> None:
    requests = Requests()
    _set_up_node(requests, LabSpec(rails=1, mtu=4000, rate_mbit=80), 1)
    index = len("enp1s0f0np0")
    assert requests.made == [
        ("set", {"index": 2, "state": "up"}),
        ("set", {"index": index, "mtu": 4000}),
        ("addr", index, "10.77.0.2", 24),
        ("tbf", index, 10_000_000, 262144),
        ("set", {"index": index, "state": "up"}),
    ]


@pytest.mark.parametrize(
    ("kind", "number", "id"),
    [
        ("veth", errno.EOPNOTSUPP, "no-veth"),
        ("bridge", errno.EOPNOTSUPP, "no-bridge"),
        ("tbf", errno.ENOENT, "no-tbf"),
        ("veth", errno.EPERM, "no-namespaces"),
        ("bridge", errno.EEXIST, "lab-failed"),
    ],
)
def test_what_the_kernel_lacks_is_named_with_its_fix(kind: str, number: int, id: str) -> None:
    spec = LabSpec(nodes=("a", "b", "c"), rate_mbit=1)
    with pytest.raises(ToolError) as caught:
        _make_rail(Requests({kind: number}), spec, 0, (1, 2, 3))
    assert caught.value.id == id
    if id.startswith("no-") and id != "no-namespaces":
        assert "sudo modprobe" in caught.value.fix


def test_a_port_the_kernel_did_not_make_is_an_error() -> None:
    requests = Requests()
    requests.absent = {"enp1s0f1np1"}
    with pytest.raises(ToolError, match="enp1s0f1np1"):
        _set_up_node(requests, LabSpec(), 0)


def test_up_is_waited_for_and_has_a_deadline() -> None:
    requests = Requests(states=["DOWN", "LOWERLAYERDOWN", "UP", "never read"])
    _wait_until_up(requests, LabSpec(rails=1), time.monotonic() + 5)
    assert requests.states == ["never read"]
    with pytest.raises(ToolError, match="enp1s0f0np0"):
        _wait_until_up(Requests(states=["DOWN"]), LabSpec(rails=1), time.monotonic() - 1)


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), _explained("x", ("no-x", "")):
        raise ZeroDivisionError


def test_without_pyroute2_the_fix_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyroute2", None)
    with pytest.raises(ToolError) as caught:
        wire(LabSpec(), (1, 2), 0)
    assert caught.value.id == "no-pyroute2"
