"""Why a value takes less, or more, than it seems to name: one line for each cause, none where all is as written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca
from fabricdoc.nccl.interfaces import take_interfaces
from fabricdoc.nccl.remarks import hca_remarks, interface_remarks, reading
from fabricdoc.nccl.selectors import expand
from tests.fabrics import hca, netdev
from tests.fabrics.spark import spark_one_cable

pytestmark = pytest.mark.unit


def mlx(*names: str) -> list[Hca]:
    return [hca(name, f"eth-{name}") for name in names]


def remarks(value: str, hcas: list[Hca]) -> tuple[str, ...]:
    return hca_remarks(value, hcas, expand(value, hcas))


def of_interfaces(value: str, *names: str, **more: Any) -> tuple[str, ...]:
    ports = [netdev(name, ip="10.0.0.1", **more) for name in names]
    return interface_remarks(value, ports, take_interfaces(value, ports), mlx("mlx5_0"))


def test_a_value_that_takes_what_it_names_needs_no_remark() -> None:
    here = mlx("mlx5_0", "mlx5_1")
    for value in ("=mlx5_0,mlx5_1:1", "mlx5", "", "^mlx5_1"):
        assert remarks(value, here) == (), value
    assert of_interfaces("=eth0", "eth0", "eth1") == ()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("=mlx5_0, mlx5_1", "' mlx5_1' has a blank before the name, and NCCL trims nothing"),
        ("mlx5_0 ,mlx5_10", "'mlx5_0 ' has a blank after the name, and NCCL trims nothing"),
        ('"mlx5_0"', "'\"mlx5_0\"' holds a quote, which NCCL takes for part of the name"),
        ("=^mlx5_0", "'^mlx5_0': '^' and '=' count at the beginning of the whole list only, '^' before '='"),
        ("mlx5_0,=mlx5_1", "'=mlx5_1': '^' and '=' count at the beginning of the whole list only, '^' before '='"),
        ("=MLX5_0", "'MLX5_0': case counts, and here is mlx5_0"),
        ("Mlx5", "'Mlx5': case counts, and here is mlx5_0, mlx5_1, mlx5_10"),
        ("=mlx5", "'mlx5': after '=' only whole names count, and here is mlx5_0, mlx5_1, mlx5_10"),
        ("=mlx5_0:2", "'mlx5_0:2' names port 2, and mlx5_0 has 1"),
        ("=mlx5_0:x", "'mlx5_0:x' names port 0, and mlx5_0 has 1"),
        ("=eth-mlx5_1", "'eth-mlx5_1' is the interface of mlx5_1, and the list names HCAs"),
        ("=mlx4_0", "'mlx4_0' fits no HCA here"),
        ("=" + "m" * 70, f"'{'m' * 70}' is longer than the 63 characters that NCCL keeps of a name"),
        ("mlx5_1", "without '=' 'mlx5_1' also fits mlx5_10"),
        ("=mlx5_0:", "'mlx5_0:': before NCCL 2.30.7 an empty port is port 0, which there is not"),
        ("=mlx5_0:1:0", "'mlx5_0:1:0': a rail and a plane are read by NCCL 2.30.7 and later"),
    ],
)
def test_each_cause_has_its_line(value: str, line: str) -> None:
    assert remarks(value, mlx("mlx5_0", "mlx5_1", "mlx5_10")) == (line,)


def test_a_port_that_is_down_is_named_with_its_state() -> None:
    hcas = spark_one_cable().nodes[0].hcas
    assert isinstance(hcas, tuple)
    (line,) = remarks("=rocep1s0f0,rocep1s0f1", list(hcas))
    assert line == "'rocep1s0f1' fits only ports that are not ACTIVE: rocep1s0f1:1 DOWN"


def test_a_state_that_is_not_known_is_said() -> None:
    (blind,) = mlx("mlx5_0")
    blind = blind.model_copy(
        update={"ports": (blind.ports[0].model_copy(update={"state": Unknown(unknown="no file")}),)}
    )
    assert remarks("mlx5_0", [blind]) == ("'mlx5_0' fits only ports that are not ACTIVE: their state is not known",)


def test_entries_and_devices_beyond_the_limits_are_named() -> None:
    here = mlx(*(f"mlx5_{number}" for number in range(40)))
    listed = "=" + ",".join(one.name for one in here)
    assert remarks(listed, here) == (
        "NCCL reads 32 entries of a list; not read: 'mlx5_32', 'mlx5_33', 'mlx5_34', 'mlx5_35' and 4 more",
    )
    assert remarks("mlx5", here) == (
        "NCCL keeps 32 devices, in the order in which verbs lists them; left out: mlx5_32:1, mlx5_33:1, mlx5_34:1, "
        "mlx5_35:1 and 4 more",
    )


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("=eth0, eth1", "' eth1' has a blank before the name, and NCCL trims nothing"),
        ("=ETH0", "'ETH0': case counts, and here is eth0"),
        ("=mlx5_0", "'mlx5_0' is the HCA of eth-mlx5_0, and the list names interfaces"),
        ("=eth0:1", "'eth0:1': an interface has no ports, so what follows the colon is not read"),
        ("=wlan0", "'wlan0' fits no interface here"),
        ("eth0", "without '=' 'eth0' also fits eth01"),
    ],
)
def test_interfaces_have_the_same_lines(value: str, line: str) -> None:
    assert (
        of_interfaces(value, "eth0", "eth01") == (line,)
        if value != "=eth0, eth1"
        else line in of_interfaces(value, "eth0", "eth1")
    )


def test_an_interface_that_is_down_is_told_from_one_that_is_not_there() -> None:
    assert of_interfaces("=eth0", "eth0", up=False) == (
        "'eth0' fits only interfaces that are down or have no address: eth0",
    )


def test_more_than_sixteen_interfaces_are_not_read() -> None:
    names = [f"e{number:02}" for number in range(18)]
    (line,) = of_interfaces("=" + ",".join(names), *names)
    assert line == "NCCL reads 16 entries of a list; not read: 'e16', 'e17'"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "names none, so it takes every HCA"),
        ("=", "names none, so it takes every HCA"),
        ("^", "excludes every HCA"),
        ("=mlx5_0,mlx5_1:1", "every HCA called mlx5_0 or mlx5_1 (port 1)"),
        ("mlx5", "every HCA whose name begins with mlx5"),
        ("^=mlx5_0", "every HCA but those called mlx5_0"),
        ("=a, b", "every HCA called a or ' b'"),
        ("=a,b,c,d,e,f", "every HCA called a or b or c or d (and 2 more)"),
    ],
)
def test_how_nccl_reads_a_value_in_a_sentence(value: str, words: str) -> None:
    assert reading(value, "HCA") == words


@given(st.text(max_size=60))
def test_any_value_is_remarked_on_without_a_fault(value: str) -> None:
    here = mlx("mlx5_0", "mlx5_1", "mlx5_10")
    assert len(remarks(value, here)) <= 2 + 2 * len(value)
    assert reading(value, "HCA")
    assert len(of_interfaces(value, "eth0", "eth01")) <= 2 + 3 * len(value)


@given(st.lists(st.sampled_from(["mlx5_0", "mlx5_1", "mlx5_10", "mlx5_9", "mlx5_1:1", "mlx5_1:2"]), min_size=1))
def test_every_entry_that_takes_nothing_has_a_line(names: list[str]) -> None:
    here = mlx("mlx5_0", "mlx5_1", "mlx5_10")
    value = "=" + ",".join(names[:32])
    lines = remarks(value, here)
    assert {line.split("'")[1] for line in lines} == set(expand(value, here).unmatched)
