"""Interface, address and the variables beside NCCL's, from the preset's own lines and fingerprint."""

from __future__ import annotations

import pytest

from fabricdoc.export.places import address, beside, interface, names_in, value_of
from tests.unit.export.presets_made import HEAD, node, pair, preset, printed

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("value", "names"),
    [("=a,b:1", ("a", "b:1")), ("=a", ("a",)), ("a", ()), ("^a", ()), ("^=a", ()), ("=^a", ()), ("", ()), ("=", ())],
)
def test_only_an_exact_list_names_ports(value: str, names: tuple[str, ...]) -> None:
    assert names_in(value) == names


def test_the_interface_is_the_first_of_the_bootstrap_list() -> None:
    assert interface(node("a", {"NCCL_SOCKET_IFNAME": "=p0,p1"})) == "p0"
    assert interface(node("a", {"NCCL_SOCKET_IFNAME": "^docker0", "GLOO_SOCKET_IFNAME": "p1"})) == "p1"
    assert interface(node("a", {"NCCL_SOCKET_IFNAME": "en"})) == ""
    assert value_of(node("a", {}), "X") == ""


def test_the_address_is_ipv4_before_ipv6_before_link_local() -> None:
    assert address(pair(), pair().nodes[0]) == "192.168.100.10"
    one = node("a", {"NCCL_SOCKET_IFNAME": "=p0"})
    assert address(preset(one, prints=(printed("a", "p0", "fe80::1/64", "fd00::1/64"),)), one) == "fd00::1"
    assert address(preset(one, prints=(printed("a", "p0", "169.254.1.1/16", "10.0.0.1/8"),)), one) == "10.0.0.1"
    assert address(preset(one, prints=(printed("a", "p1", "10.0.0.1/8"),)), one) == ""
    assert address(preset(one, prints=(printed("a", "p0", "nonsense", "$(id)"),)), one) == ""
    assert address(preset(one), one) == ""


def test_what_gloo_tensorpipe_and_ucx_need_follows() -> None:
    assert beside(node("a", HEAD)) == [
        ("GLOO_SOCKET_IFNAME", "enp1s0f1np1"),
        ("TP_SOCKET_IFNAME", "enp1s0f1np1"),
        ("UCX_NET_DEVICES", "rocep1s0f1:1,roceP2p1s0f1:1"),
    ]


def test_what_the_preset_holds_is_not_made_again() -> None:
    held = {**HEAD, "GLOO_SOCKET_IFNAME": "x", "UCX_NET_DEVICES": "all"}
    assert beside(node("a", held)) == [("TP_SOCKET_IFNAME", "enp1s0f1np1")]


def test_a_port_number_of_the_list_is_kept_and_a_prefix_gives_nothing() -> None:
    assert ("UCX_NET_DEVICES", "mlx5_0:2") in beside(node("a", {"NCCL_IB_HCA": "=mlx5_0:2"}))
    assert beside(node("a", {"NCCL_IB_HCA": "mlx5"})) == []
