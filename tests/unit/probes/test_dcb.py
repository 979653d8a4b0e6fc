"""DCB: PFC, ETS, the DSCP map and trust from the kernel's structures, and the kernel's refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.netdev import Qos
from fabricdoc.probes import dcb
from fabricdoc.probes.facts import READ_ERRORS, is_unknown
from tests.netlink_messages import Attributes, attribute, dcb_app, dcb_body, ieee_ets, ieee_pfc, nest

pytestmark = pytest.mark.unit

NOT_TOLD = {"unknown": "its driver does not tell over DCB"}
DSCP_26 = (3, nest([dcb_app(5, 3, 26), dcb_app(5, 6, 48), dcb_app(1, 2, 0)]))


def read(ieee: Attributes, driver: str = "mlx5_core") -> Qos:
    return Qos.model_validate(dcb.port(dcb_body(ieee), driver))


def test_a_lossless_port_of_a_roce_cluster() -> None:
    ets = ieee_ets([0, 0, 0, 50, 0, 50, 0, 0], [255, 0, 0, 2, 1, 2, 0, 0], [1, 0, 2, 3, 4, 5, 6, 7])
    found = read([(1, ets), (2, ieee_pfc(0b00001000)), DSCP_26])
    assert found.trust == "dscp"
    assert found.pfc == (False, False, False, True, False, False, False, False)
    assert found.priority_tc == (1, 0, 2, 3, 4, 5, 6, 7)
    assert found.tc_percent == (0, 0, 0, 50, 0, 50, 0, 0)
    assert found.tc_algorithm == ("vendor", "strict", "strict", "ets", "cbs", "ets", "strict", "strict")
    assert isinstance(found.dscp_priority, tuple)
    assert len(found.dscp_priority) == 64
    assert (found.dscp_priority[26], found.dscp_priority[48], found.dscp_priority[0]) == (3, 6, -1)


def test_mlx5_trusts_pcp_while_no_dscp_is_in_the_table() -> None:
    found = dcb.port(dcb_body([(2, ieee_pfc(0)), (3, nest([dcb_app(1, 2, 0)]))]), "mlx5_core")
    assert found["trust"] == "pcp"
    assert found["dscp_priority"] == {"unknown": "no DSCP in the kernel's APP table"}
    assert found["pfc"] == [False] * 8
    assert dcb.port(dcb_body([]), "mlx5_core")["trust"] == "pcp"


def test_of_another_driver_a_dscp_entry_proves_no_trust() -> None:
    found = dcb.port(dcb_body([DSCP_26]), "bnxt_en")
    assert found["trust"]["unknown"].startswith("the driver has no trust table")
    assert found["dscp_priority"][26] == 3


@pytest.mark.parametrize(
    ("selectors", "word"), [([5], "dscp"), ([5, 255], "dscp"), ([255, 5], "pcp"), ([255], "pcp"), ([1, 5], "dscp")]
)
def test_a_trust_table_is_believed_in_its_order(selectors: list[int], word: str) -> None:
    table = (11, nest([(1 if one != 255 else 2, bytes([one])) for one in selectors]))
    assert dcb.port(dcb_body([table, DSCP_26]), "sparx5")["trust"] == word
    assert dcb.port(dcb_body([table]), "mlx5_core")["trust"] == word


def test_an_empty_trust_table_trusts_neither() -> None:
    assert dcb.port(dcb_body([(11, b""), DSCP_26]), "x")["trust"] == {
        "unknown": "the driver trusts neither DSCP nor PCP"
    }


def test_what_the_driver_does_not_offer_is_unknown() -> None:
    found = dcb.port(dcb_body([]), "bnxt_en")
    assert {str(found[name]) for name in ("pfc", "priority_tc", "tc_algorithm", "tc_percent")} == {str(NOT_TOLD)}
    assert is_unknown(found["dscp_priority"])


def test_the_highest_of_several_priorities_counts_and_impossible_entries_do_not() -> None:
    table = nest(
        [dcb_app(5, 5, 10), dcb_app(5, 2, 10), dcb_app(5, 1, 64), dcb_app(5, 8, 11), (2, dcb_app(5, 4, 12)[1])]
    )
    found = dcb.dscp_priorities(table)
    assert (found[10], found[11], found[12]) == (5, -1, 4)
    assert dcb.dscp_priorities(nest([dcb_app(5, 1, 64)])) == []


def test_an_algorithm_that_is_not_known_keeps_its_number() -> None:
    assert dcb.port(dcb_body([(1, ieee_ets([0] * 8, [77] * 8, [0] * 8))]), "")["tc_algorithm"] == ["number 77"] * 8


def test_the_question_names_the_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bytes]] = []

    def ask(kind: int, request: bytes) -> list[bytes]:
        asked.append((kind, request))
        return [dcb_body([(2, ieee_pfc(8))])]

    monkeypatch.setattr(dcb, "ask", ask)
    assert dcb.read_dcb("enp1s0f0np0", "mlx5_core")["pfc"][3] is True
    assert asked == [(78, b"\0\x15\0\0" + attribute(1, b"enp1s0f0np0\0"))]


def test_this_kernels_refusal_of_a_port_without_dcb() -> None:
    with pytest.raises(OSError, match="not supported"):
        dcb.read_dcb("lo", "")


def test_a_port_that_is_gone_is_refused() -> None:
    with pytest.raises(OSError, match=r"No such device|not supported"):
        dcb.read_dcb("no-such-netdev", "")


def test_numbers_are_those_of_this_machines_header() -> None:
    header = Path("/usr/include/linux/dcbnl.h")
    if not header.exists():
        pytest.skip("linux-libc-dev is not installed")
    text = header.read_text()
    commands = re.findall(r"^\s*(DCB_CMD_\w+),", text, re.MULTILINE)
    attributes = re.findall(r"^\s*(DCB_ATTR_\w+),", text[text.index("\tDCB_ATTR_UNDEFINED,") :], re.MULTILINE)
    assert commands.index("DCB_CMD_IEEE_GET") == dcb.CMD_IEEE_GET
    assert attributes.index("DCB_ATTR_IEEE") == dcb.ATTR_IEEE
    ieee = attributes[attributes.index("DCB_ATTR_IEEE_UNSPEC") :]
    assert [ieee.index(f"DCB_ATTR_IEEE_{name}") for name in ("ETS", "PFC", "APP_TABLE")] == [1, 2, 3]


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_a_port_or_an_error_that_a_fact_can_hold(data: bytes, led: bool) -> None:
    try:
        found = dcb.port(dcb_body([(3, data), (11, data)]) if led else data, "mlx5_core")
    except READ_ERRORS:
        return
    Qos.model_validate(found)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 3, 11]), st.binary(max_size=70)), max_size=5))
def test_attributes_of_any_length_are_read_or_refused(ieee: list[tuple[int, bytes]]) -> None:
    try:
        found = dcb.port(dcb_body(ieee), "x")
    except READ_ERRORS:
        return
    Qos.model_validate(found)
