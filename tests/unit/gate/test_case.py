"""What is explained already, and what a finding is made of."""

from __future__ import annotations

import pytest

from fabricdoc.gate.case import Case, explained, finding_of, look_again, meets_another
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.ports import NOBODY, ONE_WAY

pytestmark = pytest.mark.unit


def peer(port: str, seen: str, note: str = "") -> Compared:
    return Compared("peer", "alpha", port, "beta/q0", seen, "differs", note)


def case(*differing: Compared) -> Case:
    return Case(differing, (), {"alpha": "alpha=user@a b", "beta": "beta"}, (), "fabricdoc bench")


def test_another_port_is_neither_nobody_nor_one_way() -> None:
    assert meets_another(peer("p0", "beta/q1"))
    assert not meets_another(peer("p0", NOBODY))
    assert not meets_another(peer("p0", "beta/q0, one way", ONE_WAY))


def test_gone_dark_and_moved_ports_explain_silence() -> None:
    gone = Compared("port", "alpha", "p1", "exists", "no such interface", "differs")
    dark = Compared("carrier", "beta", "q2", "up", "down", "differs")
    mtu = Compared("mtu", "beta", "q3", "9000", "1500", "differs")
    all_of_them = case(gone, dark, mtu, peer("p0", "beta/q1"), peer("p4", NOBODY))
    assert explained(all_of_them) == {"alpha/p1", "beta/q2", "alpha/p0"}


def test_looking_again_names_each_node_once_and_quoted() -> None:
    members = [peer("p0", NOBODY), peer("p1", NOBODY)]
    assert look_again(case(), members, "look:") == ["look:", "fabricdoc scan --nodes 'alpha=user@a b'"]


def test_a_finding_holds_its_comparisons() -> None:
    members = [peer("p0", NOBODY), Compared("kernel", "beta", "", "6", "7", "differs")]
    finding = finding_of("gate-x", members, "because", ["do this"])
    assert finding.subject == "alpha/p0, beta"
    assert [(one.file, one.text) for one in finding.evidence] == [
        ("alpha", "p0 peer: was beta/q0, is nobody heard"),
        ("beta", "kernel: was 6, is 7"),
    ]
    assert (finding.severity, finding.fix) == ("error", ("do this",))
