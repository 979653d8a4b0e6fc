"""Generic netlink: families by name, dumps of a command, and what is kept of one that fails."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import genl
from fabricdoc.probes.facts import READ_ERRORS
from tests.netlink_messages import nest

pytestmark = pytest.mark.unit


def test_this_kernel_knows_its_controller() -> None:
    assert genl.family("nlctrl") == genl.GENL_ID_CTRL


def test_a_family_that_is_not_there_is_named() -> None:
    with pytest.raises(OSError, match="no generic netlink family no-such") as refused:
        genl.family("no-such")
    assert refused.value.errno == 2


def test_a_family_is_its_number_in_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bytes, int]] = []

    def ask(kind: int, request: bytes, protocol: int) -> list[bytes]:
        asked.append((kind, request, protocol))
        return [struct.pack("=BBxx", 1, 2) + nest([(2, b"ethtool\0"), (1, struct.pack("=H", 21))])]

    monkeypatch.setattr(genl, "ask", ask)
    assert genl.family("ethtool") == 21
    assert asked == [(16, struct.pack("=BBxx", 3, 1) + nest([(2, b"ethtool\0")]), 16)]


@given(st.binary(max_size=60))
def test_any_answer_is_a_number_or_an_error_that_a_fact_can_hold(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(genl, "ask", lambda _kind, _request, _protocol: [data] if data else [])
        with contextlib.suppress(READ_ERRORS):
            assert 0 <= genl.family("ethtool") <= 0xFFFF


def test_a_dump_has_each_answers_attributes() -> None:
    found: list[bytes] = []
    genl.dump_command(genl.GENL_ID_CTRL, 3, b"", found)
    names = [dict(genl.attributes(body)).get(2) for body in found]
    assert b"nlctrl\0" in names


def test_what_came_before_a_refusal_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def dump(_kind: int, _request: bytes, _protocol: int, bodies: list[bytes]) -> list[bytes]:
        bodies.append(struct.pack("=BBxx", 4, 1) + b"kept")
        raise OSError(19, "No such device")

    monkeypatch.setattr(genl, "dump", dump)
    found: list[bytes] = []
    with pytest.raises(OSError, match="No such device"):
        genl.dump_command(21, 4, b"", found)
    assert found == [b"kept"]


def test_a_command_that_the_family_does_not_have_is_refused() -> None:
    with pytest.raises(OSError, match=r"not supported|Invalid"):
        genl.dump_command(genl.GENL_ID_CTRL, 250, b"", [])
