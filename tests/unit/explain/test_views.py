"""Views of a case: ports, tables, addresses, lists, failures; addresses compared as networks do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.explain.views import (
    addresses,
    completions,
    device_lists,
    failed_pairs,
    gid_rows,
    ipv4_of,
    is_link_local,
    networks,
    parsed,
    ports,
    ranks,
    subnet,
)
from tests.excerpts import FE80, case, completion, gids, links, log, modify_qp, using, warn
from tests.excerpts import addresses as ip_addr

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("gid", "address"),
    [
        ("::ffff:10.1.0.5", "10.1.0.5"),
        ("0000:0000:0000:0000:0000:ffff:0a01:0005", "10.1.0.5"),
        (FE80, ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_the_ipv4_of_a_gid(gid: str, address: str) -> None:
    assert ipv4_of(gid) == address


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("fe80::1%eno1", True),
        ("::ffff:169.254.1.1", True),
        ("169.254.9.9", True),
        ("10.0.0.1", False),
        ("2001:db8::1", False),
        ("?", False),
    ],
)
def test_link_local(text: str, answer: bool) -> None:
    assert is_link_local(text) is answer


def test_subnets_by_the_prefix_that_is_told_else_by_24() -> None:
    assert subnet("10.1.0.5") == "10.1.0.0/24"
    assert subnet("10.1.7.5", 16) == "10.1.0.0/16"
    assert subnet("10.1.7.5", 64) == ""
    assert subnet("fd00::5", 64) == "fd00::/64"
    assert subnet("fd00::5", -1) == subnet("fd00::5", 129) == ""
    assert subnet("nonsense") == ""
    assert subnet("10.1.7.5", 64) == subnet("10.1.7.5", -1) == "", "no prefix of such an address"


@given(st.text(max_size=30) | st.ip_addresses().map(str), st.none() | st.integers())
def test_no_text_is_an_error(text: str, prefix: int | None) -> None:
    assert isinstance(subnet(text, prefix), str)
    assert isinstance(ipv4_of(text), str)
    assert parsed(text) is None or str(parsed(text))


def test_gid_rows_know_what_nccl_wants() -> None:
    made = case(
        {
            "alpha_show_gids.txt": gids(
                ("mlx5_0", 1, FE80, "v2"), ("mlx5_0", 2, "10.1.0.5", "v1"), ("mlx5_0", 3, "10.1.0.5", "v2")
            )
        }
    )
    assert [(row.index, row.version, row.routable) for row in gid_rows(made)] == [
        (1, 2, False),
        (2, 1, False),
        (3, 2, True),
    ]
    assert gid_rows(made, "bravo") == []
    assert len(gid_rows(made, "alpha", "mlx5_0")) == 3


def test_ports_by_rdma_link_and_by_their_interfaces() -> None:
    made = case({"alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_1", "DOWN"))})
    assert [(port.hca, port.active, port.down) for port in ports(made)] == [
        ("mlx5_0", True, False),
        ("mlx5_1", False, True),
    ]
    told = case({"ibdev2netdev.txt": "mlx5_0 port 1 ==> eno1 (Up)\nmlx5_1 port 1 ==> eno2 (Down)\n"})
    assert [(port.hca, port.active) for port in ports(told)] == [("mlx5_0", True), ("mlx5_1", False)]


def test_a_port_of_which_no_state_is_told_is_neither() -> None:
    (port,) = ports(case({"show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))}))
    assert (port.active, port.down) == (False, False)


def test_addresses_leave_loopback_out() -> None:
    text = "1: lo: <LOOPBACK,UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo\n" + ip_addr(("eno1", "10.1.0.5/16"))
    assert [(one.netdev, one.network) for one in addresses(case({"ip_addr.txt": text}))] == [("eno1", "10.1.0.0/16")]


def test_lists_networks_and_ranks_of_a_log() -> None:
    init = "ncclCommInitRank comm 0x5 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1 commId 0x9 - Init START"
    made = case({"a.log": log("alpha", using("mlx5_0", "mlx5_1"), "Using network IB", init)})
    assert [device.name for _seen, listed in device_lists(made) for device in listed.devices] == ["mlx5_0", "mlx5_1"]
    assert list(networks(made)) == ["IB"]
    assert ranks(made) == 16


def test_a_channel_names_the_network_of_a_log_without_that_line() -> None:
    made = case({"a.log": log("alpha", "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0")})
    assert list(networks(made)) == ["Socket"]


def test_failures_given_up_come_before_those_still_tried() -> None:
    pair = modify_qp(110, "Connection timed out", "mlx5_0", "::1", "::2")
    place, _, message = pair[1:].partition(" ")
    tried = warn(place, message + ", retrying 1/34 after 1 ms of sleep")
    made = case({"a.log": log("alpha", tried, pair)})
    assert [record.retrying for _seen, record in failed_pairs(made)] == [False, True]


def test_flushed_completions_come_last() -> None:
    made = case({"a.log": log("alpha", completion(5, 249), completion(12))})
    assert [error.status for _seen, error in completions(made)] == [12, 5]
