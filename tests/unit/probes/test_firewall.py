"""What filters packets: each source told, "none seen" only when all could be read."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricdoc.probes import firewall, nft
from tests.sysfs import write

pytestmark = pytest.mark.unit

LOADED = {"proc/modules": "nf_tables 311296 0 - Live 0x0"}


def rules(count: int, *dropping: str) -> Callable[[], nft.Ruleset]:
    return lambda: nft.Ruleset(count, dropping)


def refused(code: int, text: str) -> Callable[[], nft.Ruleset]:
    def refuse() -> nft.Ruleset:
        raise OSError(code, text)

    return refuse


@pytest.mark.parametrize(
    ("ruleset", "line"),
    [
        (rules(12, "input", "forward"), "nftables: 12 rules, policy drop in input, forward"),
        (rules(1), "nftables: 1 rule"),
        (rules(0, "input"), "nftables: 0 rules, policy drop in input"),
        (rules(0), "none seen"),
        (refused(errno.EOPNOTSUPP, "Operation not supported"), "none seen"),
    ],
)
def test_nftables_in_numbers(tmp_path: Path, ruleset: Callable[[], nft.Ruleset], line: str) -> None:
    write(tmp_path, LOADED)
    assert firewall.read(str(tmp_path), ruleset) == line


def test_without_the_right_to_ask_it_is_unknown_not_none(tmp_path: Path) -> None:
    write(tmp_path, LOADED)
    found = firewall.read(str(tmp_path), refused(errno.EPERM, "Operation not permitted"))
    assert found == {"unknown": "nftables: Operation not permitted"}


def test_what_any_user_may_read_is_told_all_the_same(tmp_path: Path) -> None:
    write(tmp_path, LOADED | {"etc/ufw/ufw.conf": "# ufw\nENABLED=yes\nLOGLEVEL=low"})
    assert firewall.read(str(tmp_path), refused(errno.EPERM, "Operation not permitted")) == "ufw is enabled"


def test_a_kernel_without_nftables_is_not_asked(tmp_path: Path) -> None:
    write(tmp_path, {"proc/modules": "snd 1 0"})

    def never() -> nft.Ruleset:
        raise AssertionError("it was asked, which loads a module")

    assert firewall.read(str(tmp_path), never) == "none seen"


def test_tables_of_the_old_iptables(tmp_path: Path) -> None:
    write(tmp_path, LOADED | {"proc/net/ip_tables_names": "nat\nfilter", "proc/net/ip6_tables_names": "filter"})
    assert firewall.read(str(tmp_path), rules(0)) == (
        "iptables (legacy) tables nat, filter; ip6tables (legacy) tables filter"
    )
    write(tmp_path, {"proc/net/ip_tables_names": "", "proc/net/ip6_tables_names": ""})
    assert firewall.read(str(tmp_path), rules(0)) == "none seen"


@pytest.mark.parametrize(
    ("text", "enabled"),
    [("ENABLED=yes", True), ('ENABLED="yes"', True), ("ENABLED=no", False), ("#ENABLED=yes", False), ("", False)],
)
def test_ufws_own_switch(tmp_path: Path, text: str, enabled: bool) -> None:
    write(tmp_path, LOADED | {"etc/ufw/ufw.conf": text})
    assert firewall.read(str(tmp_path), rules(0)) == ("ufw is enabled" if enabled else "none seen")


def test_all_of_them_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, LOADED | {"etc/ufw/ufw.conf": "ENABLED=yes", "proc/net/ip_tables_names": "filter"})
    assert (
        firewall.read(str(tmp_path), rules(3)) == "nftables: 3 rules; iptables (legacy) tables filter; ufw is enabled"
    )


def test_every_reason_is_kept_where_nothing_is_seen(tmp_path: Path) -> None:
    write(tmp_path, LOADED)
    (tmp_path / "proc/net/ip_tables_names").mkdir(parents=True)
    found = firewall.read(str(tmp_path), refused(errno.EPERM, "Operation not permitted"))
    assert found["unknown"].startswith("nftables: Operation not permitted; ")
    assert "Is a directory" in found["unknown"]


def test_a_broken_answer_is_a_reason(tmp_path: Path) -> None:
    write(tmp_path, LOADED)

    def broken() -> nft.Ruleset:
        raise ValueError("a netlink message without a whole header")

    assert "without a whole header" in firewall.read(str(tmp_path), broken)["unknown"]


def test_this_machine_is_told_in_one_line_or_with_a_reason() -> None:
    found = firewall.read("")
    assert isinstance(found, str) or set(found) == {"unknown"}
