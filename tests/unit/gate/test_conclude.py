"""From checks to an answer: waivers, drift, one node's own part, no preset; and who must do what."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus
from fabricdoc.gate import Floors, Terms, conclude, gate_status
from fabricdoc.gate.catalogue import kinds
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.gate import Gate, GateCheck

pytestmark = pytest.mark.unit

WITH = Terms(preset="pair")


def check(id: str, outcome: Any, node: str = "alpha", **more: Any) -> GateCheck:
    return GateCheck(id=id, node=node, outcome=outcome, expected="this", found="that", **more)


def concluded(*checks: GateCheck, terms: Terms = WITH, findings: tuple[Finding, ...] = ()) -> Gate:
    return conclude(terms, ["alpha", "beta"], checks, findings)


@pytest.mark.parametrize(
    ("outcomes", "answer", "status"),
    [
        (["ok"], "go", ExitStatus.FIT),
        (["ok", "noted"], "go", ExitStatus.FIT),
        (["ok", "unknown"], "could-not-tell", ExitStatus.INCONCLUSIVE),
        (["unknown", "failed"], "node-failed", ExitStatus.FAILED),
        (["unknown", "failed", "differs"], "no-go", ExitStatus.NOT_FIT),
        ([], "go", ExitStatus.FIT),
    ],
)
def test_the_worst_that_is_certain_decides(outcomes: list[str], answer: str, status: ExitStatus) -> None:
    gate = concluded(*(check("mtu", one) for one in outcomes))
    assert (gate.answer, gate_status(gate)) == (answer, status)


def test_without_a_preset_it_is_0_or_1() -> None:
    for outcomes in product(["ok", "noted", "unknown", "failed", "differs"], repeat=2):
        gate = concluded(*(check("mtu", one) for one in outcomes), terms=Terms())
        assert gate_status(gate) in (ExitStatus.FIT, ExitStatus.NOT_FIT), outcomes
        assert (gate.answer == "go") == (not {"failed", "differs"} & set(outcomes))
        assert gate.reason.endswith("nothing measured stands behind it")


def test_a_waiver_lets_pass_and_is_recorded() -> None:
    terms = Terms(preset="pair", waived={"mtu": "the switch is being replaced", "speed": "never mind"})
    gate = concluded(check("mtu", "differs"), check("mtu", "ok", "beta"), terms=terms)
    assert gate.answer == "go"
    assert [one.waived for one in gate.checks] == ["the switch is being replaced", ""]
    assert [(one.id, one.used) for one in gate.waivers] == [("mtu", True), ("speed", False)]
    assert concluded(check("mtu", "differs"), check("peer", "differs"), terms=terms).answer == "no-go"


def test_a_waiver_covers_what_is_unknown_or_failed_too() -> None:
    terms = Terms(preset="pair", waived={"node": "gamma is being mended"})
    assert concluded(check("node", "failed"), terms=terms).answer == "go"


def test_drift_is_reported_and_what_breaks_still_refuses() -> None:
    terms = Terms(preset="pair", drift="report")
    for kind in kinds().values():
        gate = concluded(check(kind.id, "differs"), terms=terms)
        assert (gate.answer == "go") == kind.drift, kind.id
    assert concluded(check("kernel", "differs")).answer == "no-go"


def test_only_what_the_administrator_listed_refuses_locally() -> None:
    terms = Terms(preset="pair", local=True, hardware=("carrier",))
    gate = concluded(check("ports-free", "differs"), check("node", "failed"), check("memory", "unknown"), terms=terms)
    assert (gate.answer, gate.scope, gate.hardware) == ("go", "local", ("carrier",))
    assert {one.outcome for one in gate.checks} == {"noted"}
    assert concluded(check("carrier", "differs"), terms=terms).answer == "no-go"
    assert concluded(check("carrier", "unknown"), terms=terms).answer == "go"


def test_a_profile_that_asks_little_gets_little() -> None:
    terms = Terms(preset="pair", floors=Floors(only=("memory",)))
    gate = concluded(check("mtu", "differs"), check("memory", "ok"), terms=terms)
    assert (gate.answer, [one.id for one in gate.checks]) == ("go", ["memory"])


def test_every_no_says_who_must_act_and_how() -> None:
    named = Finding(
        id="gate-mtu-changed",
        severity="error",
        subject="alpha/p0",
        cause="the MTU is another",
        evidence=(Evidence(file="alpha", text="p0 mtu: was 9000, is 1500"),),
        fix=("sudo ip link set dev p0 mtu 9000",),
    )
    other = named.model_copy(update={"id": "gate-speed-changed", "evidence": (), "fix": ("another",)})
    (only,) = concluded(check("mtu", "differs", port="p0"), findings=(other, named)).checks
    assert (only.fix, only.who) == (named.fix, "administrator")
    (own,) = concluded(check("mtu", "differs", fix=("mine",), who="launcher"), findings=(named,)).checks
    assert (own.fix, own.who) == (("mine",), "launcher")
    (row,) = concluded(check("gpu-idle", "differs")).checks
    assert row.fix == kinds()["gpu-idle"].fix


def test_the_reason_names_the_first_cause_and_counts_the_others() -> None:
    first = Finding(
        id="gate-port-no-carrier", severity="error", subject="alpha/p0", cause="alpha/p0 is dark", fix=("x",)
    )
    second = Finding(id="gpu-in-use", severity="error", subject="beta", cause="beta is busy", fix=("y",))
    checks = (check("gpu-idle", "differs", "beta"), check("carrier", "differs", port="p0"))
    gate = concluded(*checks, findings=(first, second))
    assert gate.reason == "alpha/p0 is dark (and 1 more)"
    alone = concluded(check("memory", "differs"))
    assert alone.reason == "alpha: enough memory is free for the profile: expected this, found that"
    assert "for all" not in concluded(check("preset-expired", "differs", "")).reason


def test_go_counts_what_holds() -> None:
    assert concluded(check("mtu", "ok"), check("mtu", "ok")).reason == "all 2 checks hold on 2 nodes"
    assert concluded(check("mtu", "ok"), check("mtu", "noted")).reason.startswith("1 of 2 checks hold, 1 noted")


def test_findings_of_rows_that_were_not_asked_are_left_out() -> None:
    strange = Finding(id="clock-skew", severity="warning", subject="alpha")
    asked = Finding(id="gate-mtu-changed", severity="error", subject="alpha")
    free = Finding(id="of-my-own", severity="error", subject="alpha")
    assert concluded(check("mtu", "differs"), findings=(strange, asked, asked, free)).findings == (asked, free)


OUTCOMES = st.sampled_from(["ok", "noted", "differs", "unknown", "failed"])
CHECKS = st.lists(
    st.tuples(st.sampled_from(sorted(kinds())), OUTCOMES, st.sampled_from(["", "alpha", "beta"])), max_size=8
)


@given(CHECKS, st.sampled_from(["report", "fail"]), st.booleans(), st.booleans())
def test_any_set_of_checks_has_an_answer_that_follows_from_them(
    rows: list[tuple[str, str, str]], drift: Any, local: bool, with_preset: bool
) -> None:
    terms = Terms(preset="p" if with_preset else "", drift=drift, local=local, hardware=("carrier",))
    gate = conclude(terms, ["alpha"], [check(id, outcome, node) for id, outcome, node in rows], [])
    assert Gate.model_validate_json(gate.model_dump_json()) == gate
    bad = [one for one in gate.checks if one.outcome in ("differs", "failed", "unknown")]
    assert (gate.answer == "go") == (not bad)
    assert all(one.who for one in gate.checks)
    assert len(gate.checks) == len(rows)


def test_a_check_has_its_own_nodes_part_of_a_fix_that_is_of_very_many() -> None:
    """Each of a thousand checks with the lines of all thousand nodes made an answer of a gigabyte."""
    nodes = [f"n{at}" for at in range(40)]
    lines = tuple(line for node in nodes for line in (f"on {node}:", f"mend p0 of {node}", f"mend p1 of {node}"))
    bench = f"fabricdoc bench --nodes {','.join(nodes * 20)}"
    evidence = tuple(Evidence(file=node, text="p0 mtu: was 9000, is 1500") for node in nodes)
    fields = {"severity": "error", "subject": ", ".join(nodes), "evidence": evidence, "cause": "c"}
    told = Finding.model_validate({**fields, "id": "gate-mtu-changed", "fix": (*lines, bench)})
    gate = concluded(*(check("mtu", "differs", node, port="p0") for node in nodes), findings=(told,))
    assert gate.findings == (told,), "the finding is whole"
    assert [one.fix for one in gate.checks] == [
        (f"on {node}:", f"mend p0 of {node}", f"mend p1 of {node}") for node in nodes
    ]
    other = Finding.model_validate({**fields, "id": "gate-mtu-changed", "fix": tuple(f"line {at}" for at in range(99))})
    assert concluded(check("mtu", "differs", "n1", port="p0"), findings=(other,)).checks[0].fix == other.fix[:16]
    alone = Finding.model_validate({**fields, "id": "gate-mtu-changed", "fix": (bench,)})
    assert concluded(check("mtu", "differs", "n1", port="p0"), findings=(alone,)).checks[0].fix == (bench,)
