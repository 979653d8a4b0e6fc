"""nftables in numbers: answers of the kernel counted, refusals kept, and no module ever loaded."""

from __future__ import annotations

import errno
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes import nft
from fabricdoc.probes.netlink import ATTRIBUTE, HEADER
from tests.sysfs import write

pytestmark = pytest.mark.unit

NEW_CHAIN, NEW_RULE = 3, 6


def attribute(kind: int, value: bytes) -> bytes:
    return ATTRIBUTE.pack(ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def message(kind: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, 2, 1, 0) + body


def chain(hook: int | None, policy: int | None, family: int = 2) -> bytes:
    body = nft.FAMILY_HEADER.pack(family, 0, 0)
    if hook is not None:
        body += attribute(0x8000 | nft.CHAIN_HOOK, attribute(nft.HOOK_NUMBER, struct.pack(">I", hook)))
    body += b"" if policy is None else attribute(nft.CHAIN_POLICY, struct.pack(">I", policy))
    return message(nft.SUBSYSTEM << 8 | NEW_CHAIN, body)


RULE = message(nft.SUBSYSTEM << 8 | NEW_RULE, nft.FAMILY_HEADER.pack(2, 0, 0))
DONE = message(nft.DONE, struct.pack("=i", 0))


class Kernel:
    """A netlink socket whose kernel answers each kind of dump with these packets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: dict[int, list[bytes]]) -> None:
        self.asked: list[bytes] = []
        self._answers = answers
        self._left: Iterator[bytes] = iter(())
        monkeypatch.setattr(nft.socket, "socket", lambda *_types: self)

    def __enter__(self) -> Kernel:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def settimeout(self, seconds: float) -> None:
        assert 0 < seconds <= 5

    def bind(self, _address: Any) -> None:
        return None

    def send(self, data: bytes) -> None:
        self.asked.append(data)
        kind = HEADER.unpack_from(data)[1] & 0xFF
        self._left = iter(self._answers[kind])

    def recv(self, _size: int) -> bytes:
        return next(self._left)


def hooks(monkeypatch: pytest.MonkeyPatch, *chains: bytes) -> tuple[str, ...]:
    Kernel(monkeypatch, {nft.GET_CHAIN: [b"".join(chains), DONE], nft.GET_RULE: [DONE]})
    return nft.ruleset().dropping


def test_rules_are_counted_over_packets_and_dropping_hooks_named(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [chain(2, 0) + chain(1, 0), chain(3, 1) + chain(None, None), DONE]
    kernel = Kernel(monkeypatch, {nft.GET_CHAIN: chains, nft.GET_RULE: [RULE * 3, RULE + DONE]})
    assert nft.ruleset() == (4, ("input", "forward"))
    kinds, flags = zip(*(HEADER.unpack_from(sent)[1:3] for sent in kernel.asked), strict=True)
    assert kinds == (10 << 8 | 4, 10 << 8 | 7)
    assert set(flags) == {0x301}


def test_one_hook_in_two_families_is_named_once_and_input_first(monkeypatch: pytest.MonkeyPatch) -> None:
    chains = [chain(0, 0), chain(2, 0, 10), chain(2, 0), chain(1, 0, 1), chain(3, 0), chain(4, 0)]
    assert hooks(monkeypatch, *chains) == ("input", "forward", "output", "prerouting", "postrouting")


@pytest.mark.parametrize("family", [0, 3, 5, 7])
def test_policies_for_other_than_ip_packets_do_not_count(monkeypatch: pytest.MonkeyPatch, family: int) -> None:
    assert hooks(monkeypatch, chain(1, 0, family)) == ()


def test_a_chain_without_a_hook_or_with_a_strange_one_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hooks(monkeypatch, chain(None, 0), chain(5, 0, 1), chain(0xFFFFFFFF, 0), chain(1, None)) == ()


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_refusal_is_the_kernels(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    Kernel(monkeypatch, {nft.GET_CHAIN: [message(nft.ERROR, struct.pack("=i", -code))]})
    with pytest.raises(OSError) as caught:
        nft.ruleset()
    assert caught.value.errno == code


@pytest.mark.parametrize(
    "broken", [b"\x01", HEADER.pack(4, 0, 0, 1, 0), HEADER.pack(500, 0, 0, 1, 0), chain(1, 0)[:-2]]
)
def test_a_broken_answer_is_an_error(monkeypatch: pytest.MonkeyPatch, broken: bytes) -> None:
    Kernel(monkeypatch, {nft.GET_CHAIN: [broken]})
    with pytest.raises((ValueError, struct.error)):
        nft.ruleset()


def test_an_endless_dump_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nft, "MAX_ENTRIES", 10)
    Kernel(monkeypatch, {nft.GET_CHAIN: [DONE], nft.GET_RULE: [RULE * 50]})
    with pytest.raises(OSError, match="more than 10 entries"):
        nft.ruleset()


@pytest.mark.parametrize(
    ("files", "there"),
    [
        ({"proc/modules": "nf_tables 311296 0 - Live 0x0"}, True),
        ({"proc/modules": "snd 1 0\nnf_tables 311296 0 - Live 0x0"}, True),
        ({"proc/modules": "x_nf_tables 1 0"}, False),
        ({"proc/modules": "nf_tables_x 1 0\nnfnetlink 20480 1 nf_tables, Live"}, False),
        ({"proc/modules": "", "sys/module/nf_tables/version": "1"}, True),
        ({"proc/modules": "snd 1 0"}, False),
        ({}, True),
    ],
)
def test_whether_asking_would_load_a_module(tmp_path: Path, files: dict[str, str], there: bool) -> None:
    write(tmp_path, files)
    assert nft.is_there(str(tmp_path)) is there


REAL = """
import ctypes, json, os, sys
new_user, new_net = 0x10000000, 0x40000000
wanted = new_net if os.geteuid() == 0 else new_user | new_net
if ctypes.CDLL(None, use_errno=True).unshare(wanted) != 0:
    sys.exit("no network namespace of its own")
from fabricdoc.probes import nft
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.nftables.expressions import verdict
from pyroute2.nftables.main import NFTables
before = nft.ruleset()
try:
    with NFTables(nfgen_family=2) as kernel:
        kernel.table("add", name="filter")
        kernel.chain("add", table="filter", name="any", hook="input", type="filter", policy=0)
        kernel.chain("add", table="filter", name="other", hook="forward", type="filter", policy=1)
        for code in (1, 0):
            kernel.rule("add", table="filter", chain="any", expressions=(verdict(code=code),))
except NetlinkError as error:
    sys.exit(f"no chains here: {error}")
print(json.dumps([before, nft.ruleset()]))
"""


@pytest.mark.long
def test_rules_in_a_real_kernel() -> None:
    """Chains and rules made in a network namespace of the test's own, read back by the probe."""
    if not nft.is_there(""):
        pytest.skip("this kernel has no nf_tables, and a test loads no module")
    done = subprocess.run([sys.executable, "-c", REAL], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1]
        expected = ("no network namespace", "no chains here", "OSError", "PermissionError")
        assert any(word in reason for word in expected), done.stderr
        pytest.skip(f"this kernel or user can't: {reason}")
    before, after = json.loads(done.stdout)
    assert before == [0, []]
    assert after == [2, ["input"]]
