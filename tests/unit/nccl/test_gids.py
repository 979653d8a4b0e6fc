"""NCCL's own choice of a GID: known tables, NCCL's reasons in words, and a slow reading of its text as oracle."""

from __future__ import annotations

import csv
import ipaddress
import os
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricdoc.model.documents import Fact, Unknown
from fabricdoc.model.fabric import Gid, GidChoice, Hca, Port
from fabricdoc.nccl.gids import ZERO, choose_gid, gid_choices
from tests.fabrics.parts import FIRST_V2, NO_IPV4, gid_table, gid_text
from tests.fabrics.recorded import RECORDED
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

MAC = "fc:4c:ea:f9:42:30"
V1, V2 = "IB/RoCE v1", "RoCE v2"
FE80 = "fe80:0000:0000:0000:fe4c:eaff:fef9:4230"
GLOBAL = "2001:db8::5"
UNKNOWN = Unknown(unknown="Invalid argument")


def port(gids: Fact[tuple[Gid, ...]], *, slots: Fact[int] = 256, layer: Fact[str] = "Ethernet") -> Port:
    return Port(
        number=1,
        state="ACTIVE",
        phys_state="LinkUp",
        rate_gbps=200.0,
        link_layer=layer,
        active_mtu=4096,
        netdev="enp1s0f0np0",
        gids=gids,
        gid_slots=slots,
    )


def table(*rows: tuple[int, str, Fact[str]]) -> tuple[Gid, ...]:
    """Slots from (index, address or GID, type)."""
    return tuple(Gid(index=index, gid=gid_text(text), type=kind, netdev="e") for index, text, kind in rows)


def chosen(gids: tuple[Gid, ...], **how: object) -> tuple[int, str]:
    choice = choose_gid(port(gids), **how)  # type: ignore[arg-type]
    assert isinstance(choice, GidChoice), choice
    return choice.index, choice.why


# --- tables as they are met ------------------------------------------------------------------------------------------


def test_a_plain_port_takes_its_first_ipv4_v2() -> None:
    choice = choose_gid(port(gid_table(MAC, "e", ("192.168.100.10", "10.0.0.1"))), hca="rocep1s0f0")
    assert choice == GidChoice(
        hca="rocep1s0f0", port=1, index=3, gid="0000:0000:0000:0000:0000:ffff:c0a8:640a", why=FIRST_V2
    )


def test_without_ipv4_index_0_stays() -> None:
    assert chosen(gid_table(MAC, "e", ())) == (0, NO_IPV4)


def test_soft_roce_has_v2_only_and_index_1() -> None:
    assert chosen(table((0, FE80, V2), (1, "192.168.11.1", V2))) == (1, FIRST_V2)


def test_v2_before_v1_as_on_some_drivers() -> None:
    rows = table((0, FE80, V1), (1, FE80, V2), (4, "10.0.1.1", V2), (5, "10.0.1.1", V1))
    assert chosen(rows) == (4, FIRST_V2)


def test_an_early_link_local_ipv4_beats_a_later_static_one() -> None:
    rows = gid_table(MAC, "e", ("169.254.10.10", "10.0.1.1"))
    assert chosen(rows) == (3, "first IPv4 RoCE v2 GID (169.254.10.10, link-local)")
    assert chosen(rows, address_range="10.0.0.0/8") == (5, "first IPv4 RoCE v2 GID in 10.0.0.0/8")


def test_only_v1_of_an_address_is_taken_by_family_alone() -> None:
    rows = table((0, FE80, V1), (2, "10.0.0.1", V1))
    assert chosen(rows) == (2, "no IPv4 RoCE v2 GID: the first IPv4 one, RoCE v1 10.0.0.1")


def test_a_wanted_v1() -> None:
    assert chosen(gid_table(MAC, "e", ("10.0.0.1",)), roce_version=1) == (2, "first IPv4 RoCE v1 GID")


def test_a_range_that_nothing_is_in() -> None:
    rows = gid_table(MAC, "e", ("10.0.0.1",))
    assert chosen(rows, address_range="192.168.0.0/16") == (
        0,
        "no IPv4 in 192.168.0.0/16: index 0 stays, RoCE v1 link-local",
    )


@pytest.mark.parametrize("ignored", ["192.168.0.0", "192.168.0.0/33", "fd00::/8", "x/8", "192.168.0/16", "", "/8"])
def test_a_range_nccl_can_not_read_is_dropped(ignored: str) -> None:
    assert chosen(gid_table(MAC, "e", ("10.0.0.1",)), address_range=ignored) == (3, FIRST_V2)


def test_host_bits_of_a_range_do_not_count_and_text_after_the_bits_neither() -> None:
    rows = gid_table(MAC, "e", ("10.0.0.1", "192.168.7.9"))
    assert chosen(rows, address_range="192.168.255.255/16 x")[0] == 5
    assert chosen(rows, address_range="192.168.7.9/32")[0] == 5
    assert chosen(rows, address_range="192.168.7.8/32")[0] == 0
    assert chosen(rows, address_range="192.168.7.8/x")[0] == 3


def test_a_negative_number_of_bits_holds_nothing() -> None:
    assert chosen(gid_table(MAC, "e", ("10.0.0.1",)), address_range="10.0.0.0/-1")[0] == 0


def test_ipv6_needs_a_global_address() -> None:
    bare = gid_table(MAC, "e", ("10.0.0.1",))
    assert chosen(bare, family="AF_INET6") == (0, "no IPv6: index 0 stays, RoCE v1 link-local")
    rows = (*bare, *table((4, GLOBAL, V1), (5, GLOBAL, V2)))
    assert chosen(rows, family="AF_INET6") == (5, "first IPv6 RoCE v2 GID")
    assert chosen(rows, family="AF_INET6", address_range="2001:db8::/32")[0] == 5
    assert chosen(rows, family="AF_INET6", address_range="2001:db8::6/128")[0] == 0


def test_a_family_nccl_does_not_know_is_ipv4() -> None:
    assert chosen(gid_table(MAC, "e", ("10.0.0.1",)), family="af_inet6")[0] == 3


def test_ipv6_wanted_where_index_0_is_ipv4_takes_even_an_empty_slot() -> None:
    rows = table((0, "10.0.0.1", V2))
    choice = choose_gid(port(rows, slots=2), family="AF_INET6")
    assert isinstance(choice, GidChoice)
    assert (choice.index, choice.gid) == (1, ZERO)
    assert "an empty slot" in choice.why
    only = choose_gid(port(rows, slots=1), family="AF_INET6")
    assert isinstance(only, GidChoice) and only.index == 0


def test_index_0_of_the_wanted_kind_stays_even_out_of_range() -> None:
    rows = table((0, "10.0.0.1", V2), (1, "192.168.0.1", V2))
    index, why = chosen(rows, address_range="192.168.0.0/16")
    assert index == 0
    assert why == "index 0 stays, RoCE v2 10.0.0.1: no later GID is better"


def test_an_empty_table_leaves_the_empty_index_0() -> None:
    choice = choose_gid(port(()))
    assert choice == GidChoice(hca="", port=1, index=0, gid=ZERO, why="no IPv4: index 0 stays, an empty slot")


def test_a_multicast_mapped_gid_counts_as_ipv4() -> None:
    assert chosen(table((0, FE80, V1), (1, "ff0e::ffff:e000:1", V2)))[0] == 1


# --- what can't be told ----------------------------------------------------------------------------------------------


def test_a_table_that_was_not_read() -> None:
    assert choose_gid(port(UNKNOWN)) == UNKNOWN


def test_other_link_layers_have_another_rule() -> None:
    choice = choose_gid(port(gid_table(MAC, "e", ("10.0.0.1",)), layer="InfiniBand"))
    assert isinstance(choice, Unknown) and "another rule" in choice.unknown


def test_a_layer_that_was_not_read_is_told_by_a_v2_gid() -> None:
    """show_gids alone says no link layer; only RoCE ports have GIDs of version 2."""
    assert isinstance(choose_gid(port(gid_table(MAC, "e", ("10.0.0.1",)), layer=UNKNOWN)), GidChoice)
    for rows in (table((0, FE80, V1)), table((0, FE80, UNKNOWN)), ()):
        assert isinstance(choose_gid(port(rows, layer=UNKNOWN)), Unknown)


def test_an_unknown_type_that_decides() -> None:
    rows = table((0, FE80, V1), (2, "10.0.0.1", UNKNOWN), (3, "10.0.0.1", V2))
    choice = choose_gid(port(rows))
    assert isinstance(choice, Unknown) and "index 2, 3" in choice.unknown


def test_an_unknown_type_that_does_not_decide() -> None:
    rows = table((0, FE80, UNKNOWN), (1, FE80, UNKNOWN), (2, "10.0.0.1", UNKNOWN))
    assert chosen(rows) == (2, "first IPv4 GID, type unknown 10.0.0.1")
    assert chosen(table((0, FE80, V1), (2, "10.0.0.1", V2), (3, "10.0.0.1", UNKNOWN)))[0] == 2


@pytest.mark.long
def test_a_report_of_very_many_unknown_types_is_not_worked_through() -> None:
    """Every one of them may be current: without a bound the work would grow with the square of the table."""
    gids = tuple(Gid(index=at, gid=gid_text("10.0.0.1"), type=UNKNOWN, netdev="e") for at in range(1, 20_001))
    before = time.process_time()
    choice = choose_gid(port(gids, slots=30_000))
    assert isinstance(choice, Unknown) and len(choice.unknown) < 120
    assert time.process_time() - before < 2


@pytest.mark.parametrize("text", ["", "x", "fe80::1%e", "10.0.0.1", "fe80::\x00", "1" * 4000])
def test_a_gid_that_is_no_address(text: str) -> None:
    choice = choose_gid(port((Gid(index=0, gid=text, type=V2, netdev="e"),)))
    assert isinstance(choice, Unknown) and "no address" in choice.unknown


def test_indexes_no_table_has() -> None:
    rows = table((-3, "10.0.0.9", V2), (0, FE80, V1), (300, "10.0.0.1", V2))
    assert chosen(rows)[0] == 0
    huge = choose_gid(port(table((2**62, "10.0.0.1", V2)), slots=2**63), family="AF_INET6")
    assert isinstance(huge, GidChoice) and huge.index == 0


def test_an_unknown_length_ends_the_table_with_its_last_gid() -> None:
    choice = choose_gid(port(gid_table(MAC, "e", ("10.0.0.1",)), slots=UNKNOWN))
    assert isinstance(choice, GidChoice) and choice.index == 3


# --- a node's ports --------------------------------------------------------------------------------------------------


def device(name: str, **changes: object) -> Hca:
    one = port(gid_table(MAC, "e", ("10.0.0.1",))).model_copy(update=changes)
    not_read = Unknown(unknown="not read")
    return Hca(
        name=name,
        driver="mlx5_core",
        firmware=not_read,
        node_guid=not_read,
        sys_image_guid=not_read,
        board_id=not_read,
        pci=not_read,
        ports=(one, one.model_copy(update={"number": 2})),
    )


def test_choices_of_active_ethernet_ports() -> None:
    found = gid_choices((device("a"), device("b", state="DOWN"), device("c", link_layer="InfiniBand")))
    assert [(choice.hca, choice.port, choice.index) for choice in found] == [("a", 1, 3), ("a", 2, 3)]


def test_no_choice_where_it_can_not_be_told() -> None:
    assert gid_choices(Unknown(unknown="no sysfs")) == ()
    assert gid_choices((device("a", gids=UNKNOWN), device("b", state=UNKNOWN))) == ()


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_fabrics_hold_the_choice(name: str) -> None:
    for node in RECORDED[name]().nodes:
        assert gid_choices(node.hcas) == node.nccl_gids


# --- the oracle: NCCL's text read slowly -----------------------------------------------------------------------------

ADDRESSES = [FE80, "fe80::", "fe80:0:0:1::2", "::", "10.0.0.1", "10.0.1.1", "169.254.1.1", "2001:db8::5", "fd00::7"]
ADDRESSES += ["ff0e::ffff:a00:1"]
RANGES = [None, "10.0.0.0/8", "10.0.1.0/24", "10.0.0.0/0", "169.254.0.0/16", "fd00::/8", "2001:db8::/33", "10.0.0.0/31"]


def oracle(rows: list[tuple[str, str]], family: str, version: int, cidr: str | None) -> int:
    """The algorithm of the reference text, over every slot in turn, with addresses as ipaddress has them."""
    network = ipaddress.ip_network(cidr, strict=False) if cidr else None
    if network is not None and (network.version == 4) != (family == "AF_INET"):
        network = None

    def mapped(at: int) -> ipaddress.IPv4Address | None:
        address = ipaddress.IPv6Address(gid_text(rows[at][0]))
        if str(address.exploded).startswith("ff0e:0000:0000:0000:0000:ffff:"):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped

    def is_family(at: int) -> bool:
        return (mapped(at) is not None) == (family == "AF_INET")

    def in_range(at: int) -> bool:
        if network is None:
            return True
        four = mapped(at)
        return (four if network.version == 4 and four else ipaddress.IPv6Address(gid_text(rows[at][0]))) in network

    def is_valid(at: int) -> bool:
        address = ipaddress.IPv6Address(gid_text(rows[at][0]))
        return int(address) != 0 and address not in ipaddress.ip_network("fe80::/64")

    def of_version(at: int) -> int:
        return {"IB/RoCE v1": 1, "RoCE v2": 2}[rows[at][1]]

    current = 0
    for candidate in range(1, len(rows)):
        if is_family(candidate) and in_range(candidate) and not is_family(current):
            current = candidate
        elif is_family(candidate) and in_range(candidate) and is_valid(candidate):
            better = of_version(current) != of_version(candidate) or not is_valid(current)
            if better and of_version(candidate) == version:
                current = candidate
    return current


@pytest.mark.long
@settings(max_examples=400)
@given(
    rows=st.lists(st.tuples(st.sampled_from(ADDRESSES), st.sampled_from([V1, V2])), min_size=1, max_size=9),
    family=st.sampled_from(["AF_INET", "AF_INET6"]),
    version=st.sampled_from([1, 2]),
    cidr=st.sampled_from(RANGES),
)
@example([("10.0.0.1", V1), ("::", V1), ("10.0.0.1", V2)], "AF_INET6", 2, None)
@example([("10.0.0.1", V2), ("::", V1), ("::", V1), ("fd00::7", V2)], "AF_INET6", 2, None)
def test_the_choice_is_the_oracles(rows: list[tuple[str, str]], family: str, version: int, cidr: str | None) -> None:
    filled = table(*((at, text, kind) for at, (text, kind) in enumerate(rows) if text != "::"))
    choice = choose_gid(port(filled, slots=len(rows)), family=family, roce_version=version, address_range=cidr)
    assert isinstance(choice, GidChoice)
    assert choice.index == oracle(rows, family, version, cidr)


GOLD = TREE / "tests" / "fixtures" / "nccl_rules" / "gids.csv"


@pytest.mark.parametrize("row", list(csv.DictReader(GOLD.read_text().splitlines())))
def test_the_choice_is_what_nccls_code_answers(row: dict[str, str]) -> None:
    slots = [text.split("/v") for text in row["table"].split(" ")]
    kinds = {"1": V1, "2": V2}
    filled = table(*((at, text, kinds[version]) for at, (text, version) in enumerate(slots) if text != "::"))
    wanted = {"family": row["family"], "roce_version": int(row["version"]), "address_range": row["range"] or None}
    choice = choose_gid(port(filled, slots=len(slots)), **wanted)  # type: ignore[arg-type]
    assert isinstance(choice, GidChoice)
    assert choice.index == int(row["index"])


@given(
    rows=st.lists(st.tuples(st.sampled_from(ADDRESSES), st.sampled_from([V1, V2])), min_size=1, max_size=7),
    hidden=st.sets(st.integers(0, 6)),
    family=st.sampled_from(["AF_INET", "AF_INET6"]),
)
def test_with_types_unknown_the_choice_holds_or_is_not_told(
    rows: list[tuple[str, str]], hidden: set[int], family: str
) -> None:
    """Whatever the hidden types are: an answer given without them is the right one."""
    shown = [(at, text, UNKNOWN if at in hidden else kind) for at, (text, kind) in enumerate(rows) if text != "::"]
    choice = choose_gid(port(table(*shown), slots=len(rows)), family=family)
    if isinstance(choice, GidChoice):
        assert choice.index == oracle(rows, family, 2, None)


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_family_and_no_range_raises(family: str, cidr: str) -> None:
    choice = choose_gid(port(gid_table(MAC, "e", ("10.0.0.1",))), family=family, address_range=cidr)
    assert isinstance(choice, GidChoice)


# --- the front door --------------------------------------------------------------------------------------------------

LOADED = "import sys, fabricdoc.nccl as room; room.gid_choices; print(*sorted(m for m in sys.modules if 'nccl' in m))"


@pytest.mark.long
def test_the_front_door_loads_only_this_module() -> None:
    environment = {**os.environ, "PYTHONPATH": str(TREE)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=TREE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["fabricdoc.nccl", "fabricdoc.nccl.gids"]
