"""Policy rules in the words of `ip rule`: every selector, rules without a table, both families, hostile bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.netdev import Rule
from fabricdoc.probes import rules
from fabricdoc.probes.facts import READ_ERRORS
from tests.netlink_messages import Attributes, rule_body

pytestmark = pytest.mark.unit

SOURCE = (2, bytes([10, 77, 0, 1]))
TARGET = (1, bytes([10, 77, 1, 0]))


def u32(number: int) -> bytes:
    return struct.pack("=I", number)


def selector(attributes: Attributes, **header: int) -> str:
    found: str = rules.rule(rule_body(attributes, **header))["selector"]
    return found


def test_the_rule_of_a_multi_rail_node() -> None:
    body = rule_body([SOURCE, (6, u32(1000)), (15, u32(101)), (14, u32(0xFFFFFFFF))], source=32, table=101)
    assert rules.rule(body) == {"priority": 1000, "table": 101, "selector": "from 10.77.0.1/32", "family": "ipv4"}
    assert Rule.model_validate(rules.rule(body)).table == 101


def test_a_rule_without_priority_is_the_first() -> None:
    found = rules.rule(rule_body([(15, u32(255))], table=255))
    assert found == {"priority": 0, "table": 255, "selector": "", "family": "ipv4"}


def test_a_table_above_255_is_in_its_attribute() -> None:
    assert rules.rule(rule_body([(15, u32(51820))], table=252))["table"] == 51820
    assert rules.rule(rule_body([], table=77))["table"] == 77


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ([(16, u32(0xFF)), (10, u32(0x1))], "fwmark 0x1/0xff"),
        ([(10, u32(0xCA6C)), (16, u32(0xFFFFFFFF))], "fwmark 0xca6c"),
        ([(10, u32(0)), (16, u32(0))], ""),
        ([(3, b"enp1s0f0np0\0")], "iif enp1s0f0np0"),
        ([(17, b"lo\0")], "oif lo"),
        ([(20, struct.pack("=II", 0, 999))], "uidrange 0-999"),
        ([(22, b"\6"), (23, struct.pack("=HH", 22, 22))], "ipproto tcp sport 22"),
        ([(22, b"\x84"), (24, struct.pack("=HH", 5000, 6000))], "ipproto 132 dport 5000-6000"),
        ([(25, b"\x1a")], "dscp 26"),
        ([(14, u32(0))], "suppress_prefixlength 0"),
        ([(19, b"\1")], "lookup [l3mdev-table]"),
        ([(19, b"\0")], ""),
    ],
)
def test_selectors_are_the_words_of_ip_rule(attributes: Attributes, words: str) -> None:
    assert selector(attributes) == words


def test_both_ends_service_and_inversion_keep_their_order() -> None:
    assert selector([SOURCE, TARGET], source=32, to=24, tos=0x68, flags=2) == (
        "not from 10.77.0.1/32 to 10.77.1.0/24 tos 0x68"
    )


@pytest.mark.parametrize(
    ("action", "attributes", "words"),
    [
        (8, [], "prohibit"),
        (7, [], "unreachable"),
        (6, [], "blackhole"),
        (3, [], "nop"),
        (2, [(4, u32(32000))], "goto 32000"),
        (2, [], "action 2"),
        (200, [], "action 200"),
    ],
)
def test_a_rule_that_looks_nothing_up_has_table_0(action: int, attributes: Attributes, words: str) -> None:
    found = rules.rule(rule_body([SOURCE, *attributes], source=32, action=action))
    assert (found["table"], found["selector"]) == (0, f"from 10.77.0.1/32 {words}")


def test_an_l3mdev_rule_has_no_table_of_its_own() -> None:
    assert rules.rule(rule_body([(19, b"\1")], table=0))["table"] == 0


def test_ipv6() -> None:
    found = rules.rule(rule_body([(2, bytes.fromhex("fd00" + "00" * 14)), (6, u32(9))], family=10, source=8))
    assert found == {"priority": 9, "table": 254, "selector": "from fd00::/8", "family": "ipv6"}


def test_other_families_are_left_out_and_the_rest_is_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [
        rule_body([(6, u32(5))], family=10),
        rule_body([(6, u32(32766))]),
        rule_body([], family=128),
        rule_body([(6, u32(7))]),
        b"",
    ]
    monkeypatch.setattr(rules, "dump", lambda _kind, _body: bodies)
    assert [(one["family"], one["priority"]) for one in rules.read_rules()] == [
        ("ipv4", 7),
        ("ipv4", 32766),
        ("ipv6", 5),
    ]


def test_this_kernels_rules_have_the_models_fields() -> None:
    found = [Rule.model_validate(one) for one in rules.read_rules()]
    assert [one.table for one in found if one.family == "ipv4" and one.selector == ""][:1] == [255]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_rule_or_an_error_that_a_fact_can_hold(data: bytes, led: bool) -> None:
    body = rule_body([], family=2)[:12] + data if led else data
    try:
        found: dict[str, Any] = rules.rule(body)
    except READ_ERRORS:
        return
    Rule.model_validate(found)


@given(st.lists(st.tuples(st.integers(0, 26), st.binary(max_size=20)), max_size=8), st.integers(0, 255))
def test_attributes_of_any_length_are_read_or_refused(attributes: list[tuple[int, bytes]], action: int) -> None:
    try:
        found = rules.rule(rule_body(attributes, action=action))
    except READ_ERRORS:
        return
    Rule.model_validate(found)
