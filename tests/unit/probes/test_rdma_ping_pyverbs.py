"""The pyverbs provider over made-up modules of its names: what it hands over, how it fails, that it leaves nothing.

The real pyverbs runs in the RoCE lab; here only what this module does with it is shown.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from fabricdoc.probes.rdma_ping_end import BYTES, RECEIVES, Peer, Place, Refused
from fabricdoc.probes.rdma_ping_pyverbs import MODULES, Pyverbs

pytestmark = pytest.mark.unit

PLACE = Place("hca0", 1, 3, "::ffff:10.0.0.1")
HOMES = {
    "Context": "device",
    "PD": "pd",
    "MR": "mr",
    "CQ": "cq",
    "QP": "qp",
    "QPCap": "qp",
    "QPInitAttr": "qp",
    "QPAttr": "qp",
    "SGE": "wr",
    "SendWR": "wr",
    "RecvWR": "wr",
    "GID": "addr",
    "GlobalRoute": "addr",
    "AHAttr": "addr",
}


class FakeError(Exception):
    """As PyverbsRDMAError: `error_code` is the errno, -1 where there is none."""

    def __init__(self, text: str, error_code: int = -1) -> None:
        super().__init__(text)
        self.error_code = error_code


class Thing:
    """Any object of the library: remembers its words, and fails where `fails` names it."""

    fails: dict[str, int] = {}
    closed: list[str] = []
    made: list[Thing] = []
    qp_num, rkey, lkey, active_mtu = 0x321, 6, 5, 5

    def __init__(self, *words: Any, **named: Any) -> None:
        self.fail("")
        self.words, self.named = words, named
        Thing.made.append(self)

    def fail(self, verb: str) -> None:
        name = f"{type(self).__name__}{verb}"
        if name in self.fails:
            raise FakeError(f"{name} failed", self.fails[name])

    def query_port(self, _port: int) -> Thing:
        return self

    def query_gid(self, _port: int, _index: int) -> str:
        return "0000:0000:0000:0000:0000:ffff:0a00:0001"

    def to_init(self, state: Thing) -> None:
        self.fail(".to_init")

    def to_rtr(self, state: Thing) -> None:
        self.fail(".to_rtr")

    def to_rts(self, state: Thing) -> None:
        self.fail(".to_rts")

    def post_recv(self, work: Thing) -> None:
        self.fail(".post_recv")

    def post_send(self, work: Thing) -> None:
        self.fail(".post_send")

    def poll(self, _count: int) -> tuple[int, list[Any]]:
        return 0, []

    def set_wr_rdma(self, rkey: int, address: int) -> None:
        self.remote = (rkey, address)

    def close(self) -> None:
        Thing.closed.append(type(self).__name__)
        self.fail(".close")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Pyverbs:
    """Pyverbs over the made-up modules."""
    monkeypatch.setattr(Thing, "fails", {})
    monkeypatch.setattr(Thing, "closed", [])
    monkeypatch.setattr(Thing, "made", [])
    modules = {name: ModuleType(f"pyverbs.{name}") for name in MODULES}
    for name, home in HOMES.items():
        setattr(modules[home], name, type(name, (Thing,), {}))
    modules["pyverbs_error"].PyverbsError = FakeError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyverbs", ModuleType("pyverbs"))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"pyverbs.{name}", module)
    return Pyverbs()


def made(kind: str) -> list[Thing]:
    return [one for one in Thing.made if type(one).__name__ == kind]


def test_an_end_is_made_and_destroyed_in_the_right_order(library: Pyverbs) -> None:
    end = library.open(PLACE, 9)
    about = end.about()
    assert (about["qpn"], about["psn"], about["rkey"], about["active_mtu"]) == (0x321, 9, 6, 4096)
    assert made("Context")[0].named == {"name": "hca0"}
    assert made("MR")[0].words[1:] == (BYTES, 3, end.memory.address)
    assert len(made("RecvWR")) == RECEIVES
    end.close()
    assert Thing.closed == ["QP", "CQ", "MR", "PD", "Context"]


@pytest.mark.parametrize(
    ("fails", "phase", "closed"),
    [
        ("Context", "open", []),
        ("PD", "pd", ["Context"]),
        ("MR", "mr", ["PD", "Context"]),
        ("QP", "qp", ["CQ", "MR", "PD", "Context"]),
        ("QP.to_init", "init", ["QP", "CQ", "MR", "PD", "Context"]),
        ("QP.post_recv", "post", ["QP", "CQ", "MR", "PD", "Context"]),
    ],
)
def test_a_verb_that_fails_leaves_nothing_open(library: Pyverbs, fails: str, phase: str, closed: list[str]) -> None:
    Thing.fails[fails] = 12
    with pytest.raises(Refused) as raised:
        library.open(PLACE, 9)
    assert (raised.value.phase, raised.value.errno) == (phase, 12)
    assert Thing.closed == closed


@pytest.mark.parametrize(("verb", "phase"), [("QP.to_rtr", "rtr"), ("QP.to_rts", "rts")])
def test_connecting_tells_which_step_failed(library: Pyverbs, verb: str, phase: str) -> None:
    end = library.open(PLACE, 9)
    Thing.fails[verb] = 110
    with pytest.raises(Refused) as raised:
        end.connect(Peer("::ffff:10.0.0.2", 5, 6, 7, 8), 4096)
    assert (raised.value.phase, raised.value.errno) == (phase, 110)


def test_retries_are_bounded_and_a_routed_packet_may_hop(library: Pyverbs) -> None:
    end = library.open(PLACE, 9)
    end.connect(Peer("::ffff:10.0.0.2", 5, 6, 7, 8), 1024)
    state = made("QPAttr")[-1]
    assert (state.retry_cnt, state.timeout, state.path_mtu) == (6, 14, 3)  # type: ignore[attr-defined]
    (route,) = made("GlobalRoute")
    assert (route.named["hop_limit"], route.named["sgid_index"]) == (64, 3)


def test_a_write_goes_where_the_peer_said(library: Pyverbs) -> None:
    end = library.open(PLACE, 9)
    end.connect(Peer("::ffff:10.0.0.2", 5, 6, 7, 8), 1024)
    end.write(16)
    assert made("SendWR")[-1].remote == (7, 8)
    assert made("SendWR")[-1].named["opcode"] == 0
    end.send(16)
    assert made("SendWR")[-1].named["opcode"] == 2


def test_a_close_that_fails_keeps_nothing_from_being_closed(library: Pyverbs) -> None:
    end = library.open(PLACE, 9)
    Thing.fails["CQ.close"] = 16
    end.close()
    assert Thing.closed == ["QP", "CQ", "MR", "PD", "Context"]


def test_an_error_without_an_errno_has_0(library: Pyverbs) -> None:
    Thing.fails["MR"] = -1
    with pytest.raises(Refused) as raised:
        library.open(PLACE, 9)
    assert raised.value.errno == 0
