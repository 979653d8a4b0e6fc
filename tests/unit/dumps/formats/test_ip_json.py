"""Objects of `ip -j` of any shape: what is there is told, what is of a wrong type is passed over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats import ip_json

pytestmark = pytest.mark.unit

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "ifname", "ifindex", "flags", "mtu", "address", "operstate", "master", "link", "linkinfo", "altnames", "addr_info",
    "dst", "dev", "gateway", "prefsrc", "table", "state", "lladdr", "priority", "src", "srclen", "phys_port_name",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=8))
def test_any_object_is_read(found: dict[str, Any]) -> None:
    for read in (ip_json.interface, ip_json.route, ip_json.neighbour, ip_json.rule):
        list(read(found, 1))


def test_an_interface_needs_its_name() -> None:
    assert list(ip_json.interface({"mtu": 1500}, 1)) == []


def test_a_bond_tells_its_mode() -> None:
    found = {"ifname": "bond0", "linkinfo": {"info_kind": "bond", "info_data": {"mode": "802.3ad"}}}
    told = {one.path[2]: one.value for one in ip_json.interface(found, 4)}
    assert (told["kind"], told["bond_mode"]) == ("bond", "802.3ad")
    assert {one.line for one in ip_json.interface(found, 4)} == {4}


def test_small_readers() -> None:
    found = {"a": "x", "b": 5, "c": True, "d": 1 << 70}
    assert [ip_json.text(found, key) for key in "abz"] == ["x", "", ""]
    assert [ip_json.integer(found, key) for key in "abcdz"] == [None, 5, None, None, None]
    assert ip_json.objects([{"a": 1}, 2, None]) == [{"a": 1}]
    assert ip_json.objects({"a": 1}) == []
