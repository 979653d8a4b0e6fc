"""The finding behind a check, by an index: the same one that looking through all findings for each check would find."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.gate.behind import Behind
from fabricdoc.gate.catalogue import kind_of
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import GateCheck

pytestmark = pytest.mark.unit

NODES = ("", "alpha", "beta")
PORTS = ("", "p0", "p1")
IDS = ("carrier", "mtu", "kernel-log", "nobodys")
FINDINGS = ("gate-port-no-carrier", "gate-mtu-changed", "gpu-xid", "nobodys")
SUBJECTS = ("alpha", "beta", "alpha/p0", "alpha/p1", "beta/p0", "alpha: kernel log", "gamma", "pair", "")


def check(id: str = "carrier", node: str = "alpha", port: str = "p0") -> GateCheck:
    return GateCheck(id=id, node=node, port=port, outcome="differs", expected="a", found="b")


def finding(id: str, *subjects: str, evidence: Sequence[tuple[str, str]] = ()) -> Finding:
    lines = tuple(Evidence(file=file, text=text) for file, text in evidence)
    return Finding(id=id, severity="error", subject=", ".join(subjects), evidence=lines, cause="c", fix=("f",))


def named(one: Finding, of: GateCheck) -> bool:
    start = f"{of.port} {of.id}:".strip()
    return any(line.file == of.node and line.text.startswith(start) for line in one.evidence)


def about(one: Finding, of: GateCheck) -> bool:
    subjects = [subject.partition(":")[0] for subject in one.subject.split(", ")]
    places = (of.place, of.node)
    return not of.node or any(it in places or it.partition("/")[0] == of.place for it in subjects)


def looked_through(findings: Sequence[Finding], of: GateCheck) -> Finding | None:
    own = kind_of(of.id).findings
    mine = [one for one in findings if named(one, of) or about(one, of)]
    ranks = [(named(one, of), one.id in own, of.place in one.subject.split(", ")) for one in mine]
    return mine[ranks.index(max(ranks))] if mine else None


checks = st.builds(check, st.sampled_from(IDS), st.sampled_from(NODES), st.sampled_from(PORTS))
lines = st.tuples(
    st.sampled_from(NODES), st.sampled_from(["p0 carrier: was up", "carrier: x", "p1 mtu: was 9000", "x"])
)
some = st.builds(
    lambda id, subjects, evidence: finding(id, *subjects, evidence=evidence),
    st.sampled_from(FINDINGS),
    st.lists(st.sampled_from(SUBJECTS), min_size=1, max_size=3),
    st.lists(lines, max_size=2),
)


@given(st.lists(some, max_size=6), st.lists(checks, min_size=1, max_size=6))
def test_it_is_the_one_that_looking_through_all_finds(findings: list[Finding], asked: list[GateCheck]) -> None:
    behind = Behind(findings)
    for one in asked:
        found = behind.find(one)
        assert found is looked_through(findings, one)
        if found is not None:
            assert behind.names(found, one) is named(found, one)


def test_what_names_the_comparison_comes_first_then_its_row_then_its_place() -> None:
    node, place = finding("gate-port-no-carrier", "alpha"), finding("gate-port-no-carrier", "alpha/p0")
    other = finding("nobodys", "alpha/p0")
    naming = finding("nobodys", "pair", evidence=[("alpha", "p0 carrier: was up, is down")])
    assert Behind([other, node]).find(check()) is node
    assert Behind([node, other, place]).find(check()) is place
    assert Behind([node, place, naming]).find(check()) is naming
    assert Behind([finding("x", "beta")]).find(check()) is None
    assert Behind([]).find(check()) is None


class Counted(str):
    """A subject that counts how often it is taken apart."""

    count = 0

    def split(self, *words: object) -> list[str]:  # type: ignore[override]
        Counted.count += 1
        return str.split(self, ", ")


def test_a_subject_is_taken_apart_once_however_many_checks_are_asked() -> None:
    many = finding("gate-mtu-changed", "alpha").model_copy(update={"subject": Counted("alpha, beta")})
    behind = Behind([many])
    before = Counted.count
    assert all(behind.find(check("mtu", node)) is many for node in ("alpha", "beta") * 50)
    assert (before, Counted.count) == (1, 1)
