"""NCCL_IB_HCA by NCCL's grammar: prefixes, exclusion, exactness, ports, limits; and a plain reading as oracle."""

from __future__ import annotations

import csv
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Hca, Port
from fabricdoc.nccl.selectors import Selection, expand, parse_selector
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_one_cable, spark_straight
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

NOT_READ = Unknown(unknown="not read")


def port(number: int, state: Fact[str] = "ACTIVE", layer: Fact[str] = "Ethernet") -> Port:
    return Port(
        number=number,
        state=state,
        phys_state="LinkUp",
        rate_gbps=200.0,
        link_layer=layer,
        active_mtu=4096,
        netdev=NOT_READ,
        gids=(),
    )


def device(name: str, *ports: Port) -> Hca:
    return Hca(
        name=name,
        driver="mlx5_core",
        firmware=NOT_READ,
        node_guid=NOT_READ,
        sys_image_guid=NOT_READ,
        board_id=NOT_READ,
        pci=NOT_READ,
        ports=ports or (port(1),),
    )


def devices(*names: str) -> list[Hca]:
    return [device(name) for name in names]


def taken(value: str, *names: str) -> list[str]:
    return [name for name, _port in expand(value, devices(*names)).ports]


def spark() -> tuple[Hca, ...]:
    hcas = spark_straight().nodes[0].hcas
    assert isinstance(hcas, tuple)
    return hcas


# --- the grammar -----------------------------------------------------------------------------------------------------


def test_a_name_takes_what_begins_so() -> None:
    assert taken("mlx5_1", "mlx5_0", "mlx5_1", "mlx5_10", "mlx5_19") == ["mlx5_1", "mlx5_10", "mlx5_19"]
    assert taken("rocep1s0f0", "rocep1s0f0", "rocep1s0f0v0") == ["rocep1s0f0", "rocep1s0f0v0"]


def test_equals_takes_only_the_name() -> None:
    assert taken("=mlx5_1", "mlx5_0", "mlx5_1", "mlx5_10") == ["mlx5_1"]
    assert taken("=mlx5", "mlx5_0") == []


def test_caret_excludes_by_prefix_or_exactly() -> None:
    names = ("mlx5_0", "mlx5_1", "mlx5_10")
    assert taken("^mlx5_1", *names) == ["mlx5_0"]
    assert taken("^=mlx5_1", *names) == ["mlx5_0", "mlx5_10"]


def test_the_prefixes_have_one_order() -> None:
    assert taken("=^mlx5_1", "mlx5_1", "^mlx5_1") == ["^mlx5_1"]
    assert taken("^^mlx5_1", "mlx5_1", "^mlx5_1") == ["mlx5_1"]
    assert taken("==mlx5_1", "mlx5_1") == []


@pytest.mark.parametrize(("value", "all_of_them"), [("", True), ("=", True), ("^", False), ("^=", False), (",,", True)])
def test_lists_without_an_entry(value: str, all_of_them: bool) -> None:
    assert taken(value, "a", "b") == (["a", "b"] if all_of_them else [])


def test_nothing_is_trimmed_and_case_counts() -> None:
    found = expand("mlx5_0, mlx5_1", devices("mlx5_0", "mlx5_1"))
    assert found.ports == (("mlx5_0", 1),)
    assert found.unmatched == (" mlx5_1",)
    assert taken("rocep2p1s0f0", "roceP2p1s0f0") == []
    assert taken("'mlx5_0'", "mlx5_0") == []


def test_empty_entries_are_no_entries() -> None:
    selector = parse_selector("mlx5_0,,mlx5_1,:1,")
    assert [entry.name for entry in selector.entries] == ["mlx5_0", "mlx5_1"]


def test_ports_rails_and_planes() -> None:
    (entry,) = parse_selector("mlx5_0:2:3:4").entries
    assert (entry.port, entry.rail, entry.plane) == (2, 3, 4)
    (entry,) = parse_selector("mlx5_0:::4:5").entries
    assert (entry.port, entry.rail, entry.plane) == (-1, -1, 4)
    (entry,) = parse_selector("mlx5_0:x").entries
    assert entry.port == 0


def test_a_port_number_selects() -> None:
    both = [device("mlx4_0", port(1), port(2))]
    assert expand("mlx4_0:2", both).ports == (("mlx4_0", 2),)
    assert expand("mlx4_0", both).ports == (("mlx4_0", 1), ("mlx4_0", 2))
    assert expand("^mlx4_0:2", both).ports == (("mlx4_0", 1),)
    assert expand("mlx5_0:2", devices("mlx5_0")) == Selection((), ("mlx5_0:2",), ())


def test_a_number_longer_than_any_is_no_trouble() -> None:
    (entry,) = parse_selector("mlx5_0:" + "9" * 5000).entries
    assert entry.port == 9_999_999_999


# --- states and limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["DOWN", "INIT", NOT_READ])
def test_only_active_ports_and_the_others_are_named(state: Fact[str]) -> None:
    found = expand("=a,b", [device("a", port(1, state)), device("b")])
    assert found == Selection((("b", 1),), ("a",), (("a", 1),))
    assert expand("", [device("a", port(1, state))]) == Selection((), (), ())


def test_layers() -> None:
    layers = [device("ib", port(1, layer="InfiniBand")), device("opa", port(1, layer="OmniPath"))]
    assert expand("", [*layers, device("x", port(1, layer=NOT_READ))]).ports == (("ib", 1), ("x", 1))


def test_entries_after_the_32nd_are_not_read() -> None:
    names = [f"d{number:02d}" for number in range(34)]
    value = "=" + ",".join(names)
    assert parse_selector(value).dropped == ("d32", "d33")
    assert [name for name, _port in expand(value, devices(*names)).ports] == names[:32]
    assert expand("=" + ",".join([*names[:32], "late"]), devices("late")).ports == ()
    assert expand("=" + ",".join([*names[:31], "late"]), devices("late")).ports == (("late", 1),)


def test_devices_after_the_32nd_are_not_taken() -> None:
    names = [f"d{number:02d}" for number in range(40)]
    assert taken("", *names) == names[:32]


def test_a_name_is_cut_where_nccl_cuts_it() -> None:
    long = "d" * 70
    assert taken(long, long) == [long]
    assert taken("=" + long, long) == []
    assert taken("=" + long, "d" * 63) == ["d" * 63]


# --- on a Spark ------------------------------------------------------------------------------------------------------


def test_the_twins_of_one_cage() -> None:
    assert expand("=rocep1s0f0,roceP2p1s0f0", spark()).ports == (("roceP2p1s0f0", 1), ("rocep1s0f0", 1))


def test_a_prefix_takes_both_cages() -> None:
    assert expand("rocep1s0f", spark()).ports == (("rocep1s0f0", 1), ("rocep1s0f1", 1))


def test_a_name_copied_from_the_other_end_of_a_crossed_cable() -> None:
    hcas = spark_one_cable().nodes[1].hcas
    assert isinstance(hcas, tuple)
    found = expand("=rocep1s0f1,roceP2p1s0f1", hcas)
    assert found.ports == ()
    assert found.unmatched == ("rocep1s0f1", "roceP2p1s0f1")
    assert set(found.inactive) == {("rocep1s0f1", 1), ("roceP2p1s0f1", 1)}


def test_a_cable_plugged_later() -> None:
    fabric = changed(spark_one_cable(), "spark-b", "port", "rocep1s0f1", state="ACTIVE")
    hcas = fabric.nodes[1].hcas
    assert isinstance(hcas, tuple)
    assert expand("=rocep1s0f1", hcas) == Selection((("rocep1s0f1", 1),), (), ())


# --- the oracle: the text, name by name ------------------------------------------------------------------------------

NAMES = ["mlx5_0", "mlx5_1", "mlx5_10", "mlx5_11", "rocep1s0f0", "rocep1s0f0v0", "roceP2p1s0f0"]
PIECES = [*NAMES, "mlx5", "", " mlx5_0", "mlx5_1:1", "mlx5_1:2", ":1", "^mlx5_0", "=mlx5_0", "mlx5_0:", "mlx5_0::7"]


def oracle(value: str, name: str) -> bool:
    """Whether an ACTIVE device with the one port 1 is taken."""
    excludes = value[:1] == "^"
    value = value[1:] if excludes else value
    exact = value[:1] == "="
    value = value[1:] if exact else value
    hit, entries = False, 0
    for entry in value.split(","):
        fields = entry.split(":")
        if fields[0] != "":
            entries += 1
            fits = fields[0] == name if exact else name.startswith(fields[0])
            hit = hit or (fits and (fields[1:] == [] or fields[1] in ("", "1")))
    return (hit or entries == 0) is not excludes


@pytest.mark.long
@settings(max_examples=300)
@given(prefix=st.sampled_from(["", "^", "=", "^=", "=^"]), pieces=st.lists(st.sampled_from(PIECES), max_size=6))
def test_the_selection_is_the_oracles(prefix: str, pieces: list[str]) -> None:
    value = prefix + ",".join(pieces)
    assert taken(value, *NAMES) == [name for name in NAMES if oracle(value, name)]


GOLD = TREE / "tests" / "fixtures" / "nccl_rules" / "selectors.csv"


@pytest.mark.parametrize("row", list(csv.DictReader(GOLD.read_text().splitlines())))
def test_the_selection_is_what_nccls_code_answers(row: dict[str, str]) -> None:
    both = [device(name, port(1), port(2)) for name in (*NAMES[:3], *NAMES[4:], "^mlx5_0", "=mlx5_0")]
    assert " ".join(f"{name}:{number}" for name, number in expand(row["value"], both).ports) == row["taken"]


@pytest.mark.long
@given(st.text(max_size=80))
def test_any_text_is_read(value: str) -> None:
    found = expand(value, spark())
    assert set(found.ports) <= {(hca.name, 1) for hca in spark()}
    entries = parse_selector(value).entries
    assert set(found.unmatched) <= {entry.text for entry in entries}


# --- what holds of every list -----------------------------------------------------------------------------------------

LISTS = st.lists(st.sampled_from(PIECES), max_size=6)


@given(exact=st.booleans(), pieces=LISTS)
def test_a_list_and_its_exclusion_share_all_devices_between_them(exact: bool, pieces: list[str]) -> None:
    value = ("=" if exact else "") + ",".join(pieces)
    if not exact and value.startswith(("^", "=")):
        value = "," + value  # the first piece's own mark would be the list's
    both = taken(value, *NAMES), taken("^" + value, *NAMES)
    assert sorted(both[0] + both[1]) == sorted(NAMES)


@given(pieces=LISTS, dice=st.randoms())
def test_the_order_of_a_list_changes_nothing(pieces: list[str], dice: random.Random) -> None:
    turned = list(pieces)
    dice.shuffle(turned)
    for mark in ("=", "^="):
        assert taken(mark + ",".join(pieces), *NAMES) == taken(mark + ",".join(turned), *NAMES)


@given(pieces=LISTS)
def test_the_exact_form_never_takes_more(pieces: list[str]) -> None:
    value = "," + ",".join(pieces)  # a comma first: no piece's mark can be the list's
    if parse_selector(value).entries:
        assert set(taken("=" + value, *NAMES)) <= set(taken(value, *NAMES))


@given(pieces=LISTS, more=st.sampled_from(NAMES))
def test_a_longer_exact_list_takes_no_less(pieces: list[str], more: str) -> None:
    value = "=" + ",".join(pieces)
    if parse_selector(value).entries:
        assert set(taken(value, *NAMES)) <= set(taken(f"{value},{more}", *NAMES))


KERNEL_NAMES = st.text(st.characters(codec="ascii", exclude_characters=",:\x00"), min_size=1, max_size=12)


@given(names=st.lists(KERNEL_NAMES, unique=True, max_size=8), at=st.integers(0, 7))
def test_the_exact_form_of_any_device_takes_that_one(names: list[str], at: int) -> None:
    """Whatever a kernel calls a device, `=` and its name take it alone: blanks and quotes are part of a name."""
    for name in names[at : at + 1]:
        assert taken(f"={name}", *names) == [name]
