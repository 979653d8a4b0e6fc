"""What probes say is read with care: a hostile or broken node can't make a link, a crash or a flood of memory."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.fabric import beacon_reports
from fabricdoc.fabric.beacon_reports import Opened, read_heard
from fabricdoc.fabric.cabling import links_from
from fabricdoc.fabric.heard import Heard, Hearing
from fabricdoc.fabric.rails import joined_ports
from fabricdoc.probes.beacon import Senders
from fabricdoc.probes.beacon_frames import Sender

pytestmark = pytest.mark.unit

A0, A1, B1 = ("alpha", "p0"), ("alpha", "p1"), ("beta", "p1")
MAC = "02:00:00:00:00:01"
ASKED = {"alpha": frozenset({"p0", "p1"}), "beta": frozenset({"p1"})}


def ready(**ports: str) -> dict[str, Any]:
    return {"event": "ready", "ports": [{"netdev": name, "mac": mac} for name, mac in ports.items()], "refused": []}


def refused(netdev: str, reason: str, errno: int = 0, lack: str = "") -> dict[str, Any]:
    return {"ports": [], "refused": [{"netdev": netdev, "reason": reason, "errno": errno, "lack": lack}]}


def row(netdev: str, *senders: dict[str, Any], method: str = "beacon", **more: Any) -> dict[str, Any]:
    return {"netdev": netdev, "method": method, "senders": list(senders), **more}


def sender(node: str = "beta", netdev: str = "p1", count: Any = 3, near: Any = 1) -> dict[str, Any]:
    return {"node": node, "netdev": netdev, "mac": MAC, "count": count, "near": near}


def read(*rows: Any, node: str = "alpha") -> tuple[Heard, int]:
    heard = Heard()
    lost = read_heard(heard, {node: [{"event": "heard", "ports": list(rows)}]}, {A0, A1, B1})
    return heard, lost


def told(opened: Opened) -> Heard:
    heard = Heard()
    opened.tell(heard)
    return heard


def test_ports_without_raw_sockets_are_known_by_their_method() -> None:
    opened = Opened(ASKED)
    opened.note("alpha", ready(p0=MAC), "beacon")
    opened.note("alpha", refused("p1", "Operation not permitted (errno 1)", 1), "beacon")
    assert opened.barred() == ["alpha"]
    opened.note("alpha", ready(p0=MAC, p1=MAC), "multicast")
    heard = told(opened)
    assert heard.macs == {A0: MAC, A1: MAC}
    assert heard.methods == {A1: "multicast"}
    assert heard.refused == {}


def test_a_port_open_by_no_kind_has_both_reasons_and_what_it_lacks() -> None:
    opened = Opened(ASKED)
    opened.note("beta", refused("p1", "Operation not permitted (errno 1)", 1), "beacon")
    opened.note("beta", refused("p1", "no IPv6 link-local address", 0, "no-address"), "multicast")
    heard = told(opened)
    assert heard.refused == {B1: "Operation not permitted (errno 1); multicast: no IPv6 link-local address"}
    assert heard.lacks == {B1: "no-address"}
    assert heard.macs == {}


def test_a_probe_with_more_rights_takes_the_refusal_back() -> None:
    opened = Opened(ASKED)
    opened.note("beta", refused("p1", "Operation not permitted (errno 1)", 1), "beacon")
    opened.note("beta", ready(p1=MAC), "beacon")
    assert opened.barred() == []
    opened.note("beta", refused("p1", "Operation not permitted (errno 1)", 1), "beacon")
    assert opened.barred() == [], "the first probe still can't, and need not"
    assert told(opened).macs == {B1: MAC}


def test_a_port_that_is_gone_asks_for_no_other_rights() -> None:
    opened = Opened(ASKED)
    opened.note("beta", refused("p1", "No such device (errno 19)", 19), "beacon")
    assert opened.barred() == []
    assert told(opened).refused == {B1: "No such device (errno 19)"}


@pytest.mark.parametrize(
    "said",
    [
        {"ports": [{"netdev": "eth7", "mac": MAC}]},
        {"ports": [{"netdev": "p1", "mac": "\x1b[31m"}]},
        {"ports": [{"netdev": "p1", "mac": 7}]},
        {"ports": ["p1", None, 3]},
        {"ports": {"p1": MAC}},
        {"refused": [{"netdev": "eth7", "reason": "x", "errno": 1}]},
        {},
    ],
)
def test_what_was_not_asked_or_is_no_port_is_left_out(said: dict[str, Any]) -> None:
    opened = Opened(ASKED)
    opened.note("beta", said, "beacon")
    heard = told(opened)
    assert (heard.macs, heard.refused, opened.barred()) == ({}, {}, [])


def test_a_reason_is_one_clean_short_line() -> None:
    opened = Opened(ASKED)
    opened.note("beta", refused("p1", "\x1b[31mred\n" + "x" * 999, 1, "a-lack-of-its-own"), "beacon")
    heard = told(opened)
    assert heard.refused[B1].startswith("?[31mred?xxx")
    assert len(heard.refused[B1]) == 200
    assert heard.lacks == {}


def test_hearings_are_read_with_their_kind_and_what_bridges_would_keep() -> None:
    heard, lost = read(row("p0", sender(), lost=4), row("p1", sender(near=0), method="multicast"))
    assert heard.hearings == [Hearing(A0, B1, 3, "beacon", 1), Hearing(A1, B1, 3, "multicast", 0)]
    assert lost == 4


def test_two_macs_of_one_sender_are_one_hearing() -> None:
    heard, _ = read(row("p0", sender(), sender(count=2, near=0)))
    assert heard.hearings == [Hearing(A0, B1, 5, "beacon", 1)]


def test_a_sealed_frame_of_a_port_that_takes_no_part_is_stray() -> None:
    heard, _ = read(row("p0", sender(node="mallory"), sender(netdev="p9", count=2, near=0), stray=5))
    assert heard.hearings == []
    assert heard.strays == {A0: 11}
    assert heard.stray == 11


def test_a_report_of_a_port_that_was_not_opened_or_a_second_one_counts_for_nothing() -> None:
    heard, _ = read(row("p9", sender()), row("p0", sender()), row("p0", sender(count=99)))
    assert heard.hearings == [Hearing(A0, B1, 3, "beacon", 1)]


@pytest.mark.parametrize("count", [-1, 1.5, "3", None, True, 10**30, [3]])
def test_a_number_that_is_none_counts_for_nothing(count: Any) -> None:
    heard, lost = read(row("p0", sender(count=count, near=count), stray=count, lost=count, unkept=count))
    assert (heard.hearings, heard.stray, lost, heard.unkept) == ([], 0, 0, {})


def test_a_second_reading_replaces_the_first() -> None:
    heard = Heard()
    for times in (1, 2):
        said = {"ports": [row("p0", sender(count=3 * times), stray=times, echoes=times)]}
        read_heard(heard, {"alpha": [said]}, {A0, B1})
    assert [one.count for one in heard.hearings] == [6]
    assert (heard.stray, heard.echoes) == (2, {A0: 2})


def test_a_flood_of_rows_is_cut() -> None:
    heard, _ = read(row("p0", *(sender(node=f"n{number}") for number in range(beacon_reports.MAX_ROWS + 9))))
    assert heard.strays == {A0: 4 * beacon_reports.MAX_ROWS}


def test_a_flat_segment_of_more_ports_than_are_kept_is_one_segment_without_false_one_way_links() -> None:
    """14 nodes of 8 ports on one switch: every port hears 111 others and keeps 64 of them."""
    ports = [(f"n{node:02}", f"p{number}") for node in range(14) for number in range(8)]
    reports: dict[str, list[dict[str, Any]]] = {}
    for own in ports:
        heard_there = Senders(Sender(*own, MAC))
        for other in ports:
            heard_there.add(Sender(*other, MAC), False)
        kept = [{**one._asdict(), "count": count, "near": near} for one, (count, near) in heard_there.counts.items()]
        told_there = row(own[1], *kept, unkept=heard_there.unkept)
        reports.setdefault(own[0], [{"ports": []}])[0]["ports"].append(told_there)
    heard = Heard()
    read_heard(heard, reports, set(ports))
    links = links_from(heard, ())
    assert {link.kind for link in links} == {"segment", "loop"}
    groups = joined_ports([link for link in links if link.kind == "segment"])
    assert [len(group) for group in groups] == [112]
    assert len(heard.unkept) == 112


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["netdev", "method", "senders", "node", "count", "near", "stray", "lost", "unkept", "ports", "mac"]
)
ROWS = st.dictionaries(KEYS, JSON | st.sampled_from(["p0", "beacon", "alpha"]) | st.lists(st.dictionaries(KEYS, JSON)))


@pytest.mark.long
@given(st.lists(ROWS | JSON, max_size=4))
def test_no_report_raises_and_none_makes_a_link_of_unknown_ports(rows: list[Any]) -> None:
    opened, heard = Opened(ASKED), Heard()
    opened.note("alpha", {"ports": rows, "refused": rows}, "beacon")
    opened.tell(heard)
    read_heard(heard, {"alpha": [{"ports": rows}, {"ports": {}}]}, {A0, A1, B1})
    assert {one.sender for one in heard.hearings} <= {A0, A1, B1}
