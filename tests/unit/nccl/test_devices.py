"""NCCL's numbering of HCAs and what it fuses by default."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca
from fabricdoc.nccl.devices import fused, in_device_order
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit


def sparks() -> tuple[Hca, ...]:
    hcas = spark_straight().nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    return hcas


def test_numbers_follow_pci_addresses_not_names() -> None:
    """Listed by name, roceP2p1s0f0 comes first; by PCI address the functions of domain 0000 do."""
    assert sparks()[0].name == "roceP2p1s0f0"
    ordered = [one.name for one in in_device_order(sparks())]
    assert ordered == ["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]


def test_one_unknown_address_leaves_the_order_as_it_was_listed() -> None:
    first, *others = sparks()
    blind = first.model_copy(update={"pci": Unknown(unknown="no device behind it")})
    assert in_device_order([*others, blind]) == [*others, blind]


@pytest.mark.long
@given(st.permutations(range(4)))
def test_any_listing_gives_one_numbering(order: list[int]) -> None:
    hcas = sparks()
    assert in_device_order([hcas[at] for at in order]) == in_device_order(hcas)


def test_the_two_cages_of_one_pcie_link_are_fused_and_never_the_twins() -> None:
    groups = [[one.name for one in group] for group in fused(sparks())]
    assert groups == [["rocep1s0f0", "rocep1s0f1"], ["roceP2p1s0f0", "roceP2p1s0f1"]]
    twins = [one for one in sparks() if one.name.endswith("f0")]
    assert [len(group) for group in fused(twins)] == [1, 1]


def test_cards_of_their_own_are_not_fused() -> None:
    hcas = eight_rail_servers(2).nodes[0].hcas
    assert not isinstance(hcas, Unknown)
    assert [len(group) for group in fused(hcas)] == [1] * 8


def test_without_addresses_nothing_is_known_to_fuse() -> None:
    blind = [one.model_copy(update={"pci": Unknown(unknown="?")}) for one in sparks()]
    assert [len(group) for group in fused(blind)] == [1] * 4
    assert fused([]) == []
