"""show_gids: GID tables; the blank IPv4 cell shifts no column."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, line_of, tools

pytestmark = pytest.mark.unit

TEXT = fixture("show_gids.txt")


def gid(hca: str, index: int, text: str = TEXT) -> dict[object, object]:
    return {path[4]: value for path, value in facts(text).items() if path[:4] == ("gid", hca, 1, index)}


def test_a_row_with_and_without_an_ipv4() -> None:
    assert gid("rocep1s0f0", 3) == {
        "gid": "0000:0000:0000:0000:0000:ffff:0a4d:0001",
        "ipv4": "10.77.0.1",
        "link_local": False,
        "type": "RoCE v2",
        "netdev": "enp1s0f0np0",
    }
    assert gid("rocep1s0f0", 0) == {
        "gid": "fe80:0000:0000:0000:0a0b:0cff:fe03:1110",
        "link_local": True,
        "type": "IB/RoCE v1",
        "netdev": "enp1s0f0np0",
    }


def test_a_row_without_an_interface() -> None:
    assert "netdev" not in gid("mlx5_9", 0)
    assert ("port", "mlx5_9", 1, "netdev") not in facts(TEXT)


def test_only_a_v2_says_ethernet() -> None:
    found = facts(TEXT)
    assert found[("port", "rocep1s0f0", 1, "link_layer")] == "Ethernet"
    assert ("port", "mlx5_9", 1, "link_layer") not in found


def test_the_port_has_the_interface_of_its_gids() -> None:
    assert facts(TEXT)[("port", "rocep1s0f0", 1, "netdev")] == "enp1s0f0np0"


def test_blanks_for_tabs_and_a_lost_header_change_nothing() -> None:
    assert facts(TEXT.expandtabs()) == facts(TEXT)
    assert facts("\n".join(TEXT.splitlines()[2:])) == facts(TEXT)


def test_lines_and_parts() -> None:
    assert line_of(TEXT, ("gid", "rocep1s0f0", 1, 3, "type")) == 4
    assert tools(TEXT) == [("show_gids", 1, 6)]


def test_what_is_no_gid_is_left_out() -> None:
    zero = "mlx5_0\t1\t7\t0000:0000:0000:0000:0000:0000:0000:0000\t\t\tv1\tnet1\n"
    assert not gid("mlx5_0", 7, zero)
    assert facts("mlx5_0 1 99999999 fe80:0000:0000:0000:0000:0000:0000:0001 v2 net1") == {}
