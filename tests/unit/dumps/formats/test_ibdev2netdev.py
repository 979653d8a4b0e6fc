"""ibdev2netdev: which interface stands for which port; Down gives way to what knows better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps import read_text
from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

PLAIN = "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)\nrocep1s0f1 port 1 ==> enp1s0f1np1 (Down)\n"


def test_a_plain_row() -> None:
    assert facts(PLAIN.splitlines()[0]) == {
        ("hca", "rocep1s0f0", "name"): "rocep1s0f0",
        ("port", "rocep1s0f0", 1, "netdev"): "enp1s0f0np0",
        ("netdev", "enp1s0f0np0", "name"): "enp1s0f0np0",
        ("netdev", "enp1s0f0np0", "operstate"): "up",
        ("netdev", "enp1s0f0np0", "carrier"): True,
    }


def test_down_is_weak_and_up_is_not() -> None:
    weak = {one.path: one.weak for one in read_text("x", PLAIN).told if one.path[2] == "operstate"}
    assert weak == {("netdev", "enp1s0f0np0", "operstate"): False, ("netdev", "enp1s0f1np1", "operstate"): True}


def test_the_carrier_that_up_tells_is_weak() -> None:
    assert [one.weak for one in read_text("x", PLAIN).told if one.path[2] == "carrier"] == [True]


def test_a_row_of_v() -> None:
    found = facts(fixture("ibdev2netdev-v.txt"))
    assert found[("hca", "rocep1s0f1", "pci")] == "0000:01:00.1"
    assert found[("hca", "rocep1s0f0", "hca_type")] == "MT4129"
    assert found[("hca", "rocep1s0f0", "firmware")] == "28.45.4028"
    assert found[("port", "rocep1s0f0", 1, "state")] == "ACTIVE"
    assert found[("port", "rocep1s0f1", 1, "state")] == "DOWN"
    assert found[("port", "rocep1s0f1", 1, "netdev")] == "enp1s0f1np1"
    assert found[("netdev", "enp1s0f0np0", "pci")] == "0000:01:00.0"


@pytest.mark.parametrize("line", ["rocep1s0f0 port 1 ==> enp1s0f0np0", "a port b ==> c (Up)", "==> file.txt <==", ""])
def test_other_lines_are_no_rows(line: str) -> None:
    assert facts(line) == {}


def test_it_is_recognised_by_its_rows_alone() -> None:
    assert tools(f"hello\n{PLAIN}bye bye\n") == [("", 1, 1), ("ibdev2netdev", 2, 3), ("", 4, 4)]


@pytest.mark.parametrize("netdev", ["e0", "enP2p1s0f0np0", "bond0.40", "ib0@eth", "a-b"])
def test_interfaces_of_every_name(netdev: str) -> None:
    assert facts(f"mlx5_0 port 1 ==> {netdev} (Up)\n")[("port", "mlx5_0", 1, "netdev")] == netdev


def test_a_down_interface_is_not_told_to_have_no_carrier() -> None:
    assert ("netdev", "enp1s0f1np1", "carrier") not in facts(PLAIN)


def test_a_second_port_of_one_hca_is_its_own() -> None:
    found = facts("mlx4_0 port 1 ==> e0 (Up)\nmlx4_0 port 2 ==> e1 (Down)\n")
    assert (found[("port", "mlx4_0", 1, "netdev")], found[("port", "mlx4_0", 2, "netdev")]) == ("e0", "e1")


@given(st.text(alphabet="mlx5_0 port1=>e(UpDown)\t:.", max_size=60))
def test_any_row_is_read(line: str) -> None:
    for path, value in facts(f"$ ibdev2netdev\n{line}\n").items():
        assert path[0] in ("hca", "port", "netdev") and value is not None
