"""Link settings, FEC and pause: the replies' fields, dumps cut short, the ioctl instead, this kernel's own answer."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import ethtool, ethtool_ioctl, genl
from fabricdoc.probes.facts import READ_ERRORS, is_unknown
from tests.netlink_messages import ethtool_body, words

pytestmark = pytest.mark.unit

Answers = dict[int, "Sequence[bytes] | OSError | tuple[Sequence[bytes], OSError]"]
REFUSED = OSError(95, "Operation not supported")
PORT = [(2, b"\1"), (5, words(200000)), (6, b"\1"), (9, words(2))]


def kernel(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> list[int]:
    """A kernel with the ethtool family that answers each command with bodies, an error, or both; the commands asked."""
    asked: list[int] = []

    def dump_command(kind: int, command: int, _request: bytes, found: list[bytes]) -> None:
        assert kind == 21
        asked.append(command)
        answer = answers.get(command, REFUSED)
        bodies, error = answer if isinstance(answer, tuple) else (answer, None)
        if isinstance(bodies, OSError):
            raise bodies
        found += bodies
        if error:
            raise error

    monkeypatch.setattr(genl, "family", lambda _name: 21)
    monkeypatch.setattr(genl, "dump_command", dump_command)
    return asked


def ioctls(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> list[tuple[str, str]]:
    """The ioctls answer with these numbers (the rest is refused); the questions asked."""
    asked: list[tuple[str, str]] = []

    def answering(question: str) -> Callable[[str], Any]:
        def answer(name: str) -> Any:
            asked.append((question, name))
            if question not in answers:
                raise REFUSED
            return answers[question]

        return answer

    for question in ("link_settings", "active_fec", "pause"):
        monkeypatch.setattr(ethtool_ioctl, question, answering(question))
    return asked


def test_one_dump_of_each_kind_answers_for_every_port(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ioctls(monkeypatch)
    kernel(
        monkeypatch,
        {
            4: [ethtool_body(4, PORT), ethtool_body(5, [(2, b"\0"), (5, words(0xFFFFFFFF)), (6, b"\xff")])],
            29: [ethtool_body(4, [(3, b"\1"), (4, words(50))])],
            21: [ethtool_body(4, [(3, b"\1"), (4, b"\0")])],
        },
    )
    found = ethtool.read_settings({4: "enp1s0f0np0", 5: "enp1s0f1np1"})
    assert found[4] == {
        "speed_mbps": 200000,
        "duplex": "full",
        "autoneg": True,
        "lanes": 2,
        "fec": "RS",
        "pause_rx": True,
        "pause_tx": False,
    }
    assert found[5]["speed_mbps"] == {"unknown": "the kernel reports -1: not known, or no link"}
    assert found[5]["duplex"] == {"unknown": "the kernel reports 255: not known, or no link"}
    assert (found[5]["autoneg"], is_unknown(found[5]["lanes"])) == (False, True)
    assert asked == []


def test_a_driver_that_is_left_out_of_a_whole_dump_does_not_support_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ioctls(monkeypatch)
    kernel(monkeypatch, {4: [ethtool_body(4, PORT)], 29: [], 21: []})
    found = ethtool.complete(ethtool.read_settings({4: "enp1s0f0np0"})[4])
    unsupported = {"unknown": "its driver does not tell (Operation not supported)"}
    assert found["speed_mbps"] == 200000
    assert (found["fec"], found["pause_rx"], found["pause_tx"]) == (unsupported, unsupported, unsupported)
    assert set(ethtool.complete(None)) == {*ethtool.LINK_FIELDS, "fec", *ethtool.PAUSE_FIELDS}


def test_a_dump_that_a_driver_cuts_short_is_finished_by_ioctl(monkeypatch: pytest.MonkeyPatch) -> None:
    """ethnl_default_dumpit (net/ethtool/netlink.c) ends at the first driver that fails with more than EOPNOTSUPP."""
    asked = ioctls(monkeypatch, link_settings=(100000, 1, 0))
    kernel(monkeypatch, {4: ([ethtool_body(4, PORT)], OSError(19, "No such device")), 29: [], 21: []})
    found = ethtool.read_settings({4: "enp1s0f0np0", 7: "enP7s7"})
    assert asked == [("link_settings", "enP7s7")]
    assert (found[4]["speed_mbps"], found[4]["lanes"]) == (200000, 2)
    assert (found[7]["speed_mbps"], found[7]["lanes"]) == (100000, {"unknown": "the ioctl does not tell"})


def test_a_kernel_without_the_family_is_asked_by_ioctl(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_family(_name: str) -> int:
        raise OSError(2, "this kernel has no generic netlink family ethtool (ENOENT)")

    ioctls(monkeypatch, link_settings=(200000, 1, 1), active_fec=1 << 3, pause=(0, 1))
    monkeypatch.setattr(genl, "family", no_family)
    assert ethtool.read_settings({4: "enp1s0f0np0"})[4] == {
        "speed_mbps": 200000,
        "duplex": "full",
        "autoneg": True,
        "lanes": {"unknown": "the ioctl does not tell"},
        "fec": "RS",
        "pause_rx": False,
        "pause_tx": True,
    }


def test_a_kernel_before_fec_in_netlink_is_asked_for_it_by_ioctl(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ioctls(monkeypatch, active_fec=1 << 4)
    kernel(monkeypatch, {4: [ethtool_body(4, PORT)], 21: []})
    assert ethtool.read_settings({4: "enp1s0f0np0"})[4]["fec"] == "BaseR"
    assert asked == [("active_fec", "enp1s0f0np0")]


def test_where_both_ways_fail_both_reasons_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ioctls(monkeypatch)
    kernel(monkeypatch, {4: OSError(1, "Operation not permitted"), 29: [], 21: []})
    found = ethtool.read_settings({4: "enp1s0f0np0"})
    reason = "netlink: Operation not permitted; ioctl: Operation not supported"
    assert {found[4][name]["unknown"] for name in ethtool.LINK_FIELDS} == {reason}


def test_a_driver_that_does_not_answer_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a lock that a sick driver holds, every further question would hang as well, the ioctls for ever."""
    asked = ioctls(monkeypatch)
    dumps = kernel(monkeypatch, {4: [ethtool_body(4, PORT)], 29: TimeoutError(110, "no answer within 2 s"), 21: []})
    found = ethtool.read_settings({4: "enp1s0f0np0", 5: "enp1s0f1np1"})
    silent = {"unknown": "no answer within 2 s"}
    assert (found[4]["speed_mbps"], found[4]["fec"], found[4]["pause_rx"]) == (200000, silent, silent)
    assert set(map(str, found[5].values())) == {str(silent)}
    assert (dumps, asked) == ([4, 29], [])


def test_one_broken_reply_is_asked_again_and_spoils_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ioctls(monkeypatch, link_settings=(10000, 1, 0))
    kernel(monkeypatch, {4: [b"\7", ethtool_body(4, PORT)], 29: [], 21: []})
    found = ethtool.read_settings({4: "a", 5: "b"})
    assert (found[4]["speed_mbps"], found[5]["speed_mbps"]) == (200000, 10000)
    assert asked == [("link_settings", "b")]


@pytest.mark.parametrize(("bit", "word"), [(49, "Off"), (50, "RS"), (51, "BaseR"), (74, "LLRS")])
def test_active_encodings_are_ethtools_words(bit: int, word: str) -> None:
    assert ethtool.fec({4: words(bit)}) == {"fec": word}
    header = Path("/usr/include/linux/ethtool.h")
    names = {"Off": "NONE", "BaseR": "BASER"}
    if header.exists():
        assert re.search(rf"ETHTOOL_LINK_MODE_FEC_{names.get(word, word)}_BIT\s+= {bit},", header.read_text())


def test_no_encoding_and_an_unknown_one_are_told_apart() -> None:
    assert ethtool.fec({3: b"\1"})["fec"]["unknown"].startswith("its driver names no active encoding")
    assert ethtool.fec({4: words(120)})["fec"] == {"unknown": "link mode 120 is no encoding known here"}


@pytest.mark.parametrize(
    ("bits", "word"), [(0b100, "Off"), (0b1000, "RS"), (0b10000, "BaseR"), (0b100000, "LLRS"), (0b1001, "RS")]
)
def test_the_ioctls_bits_are_the_same_words(monkeypatch: pytest.MonkeyPatch, bits: int, word: str) -> None:
    ioctls(monkeypatch, active_fec=bits)
    assert ethtool.old_fec("x") == {"fec": word}


@pytest.mark.parametrize("bits", [0, 0b1, 0b10])
def test_no_bit_none_and_auto_name_no_encoding(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    ioctls(monkeypatch, active_fec=bits)
    assert is_unknown(ethtool.old_fec("x")["fec"])


def test_a_speed_of_0_is_none() -> None:
    assert ethtool.speed(0) == {"unknown": "the kernel reports 0: not known, or no link"}
    assert ethtool.duplex(0) == "half"


def test_a_reply_without_its_fields_is_unknown() -> None:
    found = {**ethtool.link_settings({}), **ethtool.pause({})}
    assert all(is_unknown(fact) for fact in found.values())
    assert len(found) == 6


def test_this_kernels_answer_is_read() -> None:
    for found in ethtool.read_settings({}).values():
        assert set(found) <= {*ethtool.LINK_FIELDS, "fec", *ethtool.PAUSE_FIELDS}


@given(st.lists(st.binary(max_size=80), max_size=4))
def test_any_replies_are_settings_or_reasons(bodies: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        ioctls(patched)
        kernel(patched, {4: bodies, 29: bodies, 21: bodies})
        found = ethtool.read_settings({4: "enp1s0f0np0"})
    for settings in found.values():
        assert ethtool.complete(settings).keys() == ethtool.complete(None).keys()


@given(st.dictionaries(st.integers(0, 12), st.binary(max_size=8)))
def test_attributes_of_any_length_are_read_or_refused(about: dict[int, bytes]) -> None:
    for parse in (ethtool.link_settings, ethtool.fec, ethtool.pause):
        try:
            parse(about)
        except READ_ERRORS:
            continue


def test_a_short_number_is_refused() -> None:
    with pytest.raises(struct.error):
        ethtool.link_settings({5: b"ab"})
