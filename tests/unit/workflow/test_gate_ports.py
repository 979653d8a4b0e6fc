"""A port that another gate held a moment ago is free; one that a server holds is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.workflow import gate_ports
from fabricdoc.workflow.gate_ports import LOOKS, TAKEN, still_taken

pytestmark = pytest.mark.unit

OTHER = Finding(id="clock-skew", severity="warning", subject="beta", cause="c", fix=("f",))
SHOWN, HIDDEN = "python (pid 7)", "a process that /proc does not show to this user"


def taken(by: str = HIDDEN, port: int = 29500, ip: str = "10.0.0.1") -> Finding:
    evidence = (Evidence(file="alpha", text=f"tcp port {port} is in use by {by}"),)
    return Finding(id=TAKEN, severity="info", subject=f"alpha {ip}:{port}", evidence=evidence, cause="c", fix=("f",))


def fabric(*findings: Finding) -> Fabric:
    return Fabric(findings=findings)


class Looks:
    """What is found look by look, the last again and again; how often was looked."""

    def __init__(self, *found: tuple[Finding, ...]) -> None:
        self._found = list(found)
        self.count = 0

    def __call__(self, bare: Fabric) -> Fabric:
        assert bare.findings == ()
        self.count += 1
        found = self._found.pop(0) if len(self._found) > 1 else self._found[0]
        return fabric(*found)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    made: list[float] = []
    monkeypatch.setattr(gate_ports.time, "sleep", made.append)
    return made


def looked(before: Fabric, looks: Looks, left: Callable[[], float] = lambda: 10.0) -> tuple[Finding, ...]:
    return still_taken(before, looks, left).findings


def test_where_no_port_is_taken_nobody_looks_again(pauses: list[float]) -> None:
    looks = Looks(())
    assert looked(fabric(OTHER), looks) == (OTHER,)
    assert (looks.count, pauses) == (0, [])


def test_a_port_that_is_free_by_now_is_not_told_and_all_else_is() -> None:
    looks = Looks(())
    assert looked(fabric(OTHER, taken()), looks) == (OTHER,)
    assert looks.count == 1


def test_a_port_that_one_process_holds_in_two_looks_is_taken(pauses: list[float]) -> None:
    looks = Looks((taken(SHOWN),))
    assert looked(fabric(taken(SHOWN), OTHER), looks) == (taken(SHOWN), OTHER)
    assert (looks.count, len(pauses)) == (1, 1)


def test_another_holder_each_time_is_looked_at_until_the_last_look() -> None:
    looks = Looks((taken("python (pid 8)"),), (taken("python (pid 9)"),))
    assert looked(fabric(taken(SHOWN)), looks) == (taken("python (pid 9)"),)
    assert looks.count == LOOKS - 1


def test_where_no_process_is_shown_the_last_look_decides() -> None:
    looks = Looks((taken(),))
    assert looked(fabric(taken()), looks) == (taken(),)
    assert looks.count == LOOKS - 1
    assert looked(fabric(taken()), Looks((taken(),), ())) == ()


def test_each_port_and_address_by_itself() -> None:
    first, second, third = taken(SHOWN), taken(SHOWN, 29501), taken(SHOWN, ip="10.0.0.9")
    assert looked(fabric(first, second, third), Looks((second,))) == (second,)


def test_what_is_only_taken_now_is_another_gates_moment() -> None:
    new = taken("python (pid 9)", 29999)
    assert looked(fabric(taken(SHOWN)), Looks((taken(SHOWN), new))) == (taken(SHOWN),)


def test_without_time_the_first_look_stands(pauses: list[float]) -> None:
    looks = Looks(())
    assert looked(fabric(taken()), looks, lambda: 0.1) == (taken(),)
    assert (looks.count, pauses) == (0, [])


def test_a_finding_without_evidence_is_of_nobody_shown() -> None:
    bare = taken().model_copy(update={"evidence": ()})
    assert looked(fabric(bare), Looks((bare,))) == (bare,)
