"""A GID in every spelling is one GID."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats.gid_text import gid_fields, gid_type

pytestmark = pytest.mark.unit


@given(st.integers(1, 2**128 - 1))
def test_short_and_long_spellings_are_one(value: int) -> None:
    address = ipaddress.IPv6Address(value)
    short = gid_fields(str(address))
    assert short == gid_fields(address.exploded)
    assert short is not None
    assert ipaddress.IPv6Address(short["gid"]) == address
    assert len(short["gid"]) == 39


@given(st.integers(0, 2**32 - 1))
def test_a_mapped_ipv4_is_told(value: int) -> None:
    ip = str(ipaddress.IPv4Address(value))
    fields = gid_fields(f"::ffff:{ip}")
    assert fields is not None
    assert (fields["ipv4"], fields["link_local"]) == (ip, False)


@pytest.mark.parametrize("text", ["", "::", "0000:" * 7 + "0000", "10.0.0.1", "fe80::1%eth0%", "fe80", "g::1"])
def test_what_is_none(text: str) -> None:
    assert gid_fields(text) is None


@pytest.mark.parametrize(
    ("text", "local"), [("fe80::1", True), ("febf::1", True), ("fec0::1", False), ("fd00::1", False)]
)
def test_link_local(text: str, local: bool) -> None:
    fields = gid_fields(text)
    assert fields is not None
    assert fields["link_local"] is local


def test_types() -> None:
    assert [gid_type(word) for word in ("v1", "RoCE v1", "IB/RoCE v1", "v2", "RoCE v2", "v3", "")] == [
        *["IB/RoCE v1"] * 3,
        *["RoCE v2"] * 2,
        None,
        None,
    ]
