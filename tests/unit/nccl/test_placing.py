"""The variables of a set of ports, in each library's grammar, and names that no list can hold."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabricdoc.nccl import expand, reject_unsafe
from fabricdoc.nccl.placing import gloo_variables, is_writable, nccl_variables, server_variables
from tests.fabrics import hca

pytestmark = pytest.mark.unit


class Port(NamedTuple):
    netdev: str
    hca: str | None = None


TWINS = [Port("enp1s0f1np1", "rocep1s0f1"), Port("enP2p1s0f1np1", "roceP2p1s0f1")]


def test_nccl_gets_an_exact_set_and_the_network_by_name() -> None:
    assert nccl_variables(TWINS) == {
        "NCCL_NET": "IB",
        "NCCL_IB_HCA": "=rocep1s0f1,roceP2p1s0f1",
        "NCCL_SOCKET_IFNAME": "=enp1s0f1np1",
    }
    assert nccl_variables(TWINS, "enP7s7")["NCCL_SOCKET_IFNAME"] == "=enP7s7"


def test_one_port_without_an_hca_makes_all_of_them_sockets() -> None:
    assert nccl_variables([*TWINS, Port("eth2")]) == {
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_IFNAME": "=enp1s0f1np1,enP2p1s0f1np1,eth2",
    }


def test_a_server_gets_one_interface_for_control_and_ucx_devices_with_their_port() -> None:
    found = server_variables(TWINS)
    assert list(found) == [
        "NCCL_NET",
        "NCCL_IB_HCA",
        "NCCL_SOCKET_IFNAME",
        "GLOO_SOCKET_IFNAME",
        "TP_SOCKET_IFNAME",
        "UCX_NET_DEVICES",
    ]
    assert found["GLOO_SOCKET_IFNAME"] == found["TP_SOCKET_IFNAME"] == "enp1s0f1np1"
    assert found["UCX_NET_DEVICES"] == "rocep1s0f1:1,roceP2p1s0f1:1"
    away = server_variables(TWINS, "enP7s7")
    assert (away["GLOO_SOCKET_IFNAME"], away["NCCL_SOCKET_IFNAME"]) == ("enP7s7", "=enP7s7")
    assert server_variables([Port("p0"), Port("p1")])["UCX_NET_DEVICES"] == "p0"


def test_gloo_takes_every_interface() -> None:
    assert gloo_variables(TWINS) == {"GLOO_SOCKET_IFNAME": "enp1s0f1np1,enP2p1s0f1np1"}


@pytest.mark.parametrize(
    "name", ["a,b", "a:1", "a b", "^a", "=a", "", "a'b", 'a"b', "a$b", "a`b", "a\nb", "ä", "a;b", "-a", "x" * 64, ".a"]
)
def test_names_that_would_mean_something_else_are_refused(name: str) -> None:
    assert not is_writable(Port(name, "mlx5_0"))
    assert not is_writable(Port("p0", name))
    for write in (nccl_variables, gloo_variables, server_variables):
        with pytest.raises(ValueError, match="cannot be written"):
            write([Port("p0", name)])


@pytest.mark.parametrize("write", [nccl_variables, gloo_variables, server_variables])
def test_no_port_is_a_mistake_of_the_caller(write: object) -> None:
    with pytest.raises(ValueError, match="no port"):
        write([])  # type: ignore[operator]


NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,15}", fullmatch=True)


@pytest.mark.long
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), st.data())
def test_what_is_written_takes_exactly_those_devices_by_nccls_own_grammar(
    names: list[str], data: st.DataObject
) -> None:
    """Of any devices, prefixes of one another too, exactly the listed ones; the order of the list changes nothing."""
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    value = nccl_variables([Port("p0", name) for name in chosen])["NCCL_IB_HCA"]
    taken = expand(value, [hca(name, "p0") for name in names])
    assert {name for name, _port in taken.ports} == set(chosen)
    assert taken.unmatched == ()
    turned = nccl_variables([Port("p0", name) for name in reversed(chosen)])["NCCL_IB_HCA"]
    assert expand(turned, [hca(name, "p0") for name in names]).ports == taken.ports


@given(st.lists(st.builds(Port, st.text(max_size=12), st.text(max_size=12)), max_size=4))
def test_any_names_give_safe_values_or_an_error(ports: list[Port]) -> None:
    assume(ports)
    if all(map(is_writable, ports)):
        assert reject_unsafe(server_variables(ports)) is None
    else:
        with pytest.raises(ValueError):
            server_variables(ports)
