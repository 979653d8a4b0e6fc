"""Room for the job: idle GPUs, memory, limits; by the profile's floors or by what the checks say."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.gate import Floors, Users
from fabricdoc.gate.room import judge_room
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck

pytestmark = pytest.mark.unit

GIB = 1 << 30
NOBODY = Users({}, {})
ENOUGH = {"memory_available": 64 * GIB, "memlock": -1, "shm_bytes": 8 * GIB}


@pytest.fixture
def roomy(fabric: Fabric, change: Any) -> Fabric:
    for name in ("alpha", "beta"):
        fabric = change.host(fabric, name, **ENOUGH)
    return fabric


def judged(fabric: Fabric, floors: Floors | None = None, users: Users = NOBODY, **serving: Any) -> list[GateCheck]:
    return judge_room(fabric, floors or Floors(), users, serving)[0]


def bad(checks: list[GateCheck]) -> list[tuple[str, str, str]]:
    return [(one.id, one.node, one.outcome) for one in checks if one.outcome != "ok"]


def test_a_roomy_pair_holds(roomy: Fabric) -> None:
    checks = judged(roomy)
    assert {(one.id, one.node) for one in checks} == {
        (id, node) for id in ("gpu-idle", "memlock", "shm", "memory") for node in ("alpha", "beta")
    }
    assert bad(checks) == []
    assert {one.found for one in checks if one.id == "memlock"} == {"no limit"}


def test_who_uses_a_gpu_is_named_with_the_line_that_stops_it(roomy: Fabric) -> None:
    users = Users({"beta": ["python (pid 7, docker old)"]}, {"beta": ["docker stop old", "docker stop old"]})
    checks, findings = judge_room(roomy, Floors(), users, {})
    assert bad(checks) == [("gpu-idle", "beta", "differs")]
    (finding,) = findings
    assert finding.id == "gpu-in-use"
    assert finding.severity == "error"
    assert finding.fix[-2:] == ("on beta:", "docker stop old")
    assert "python (pid 7, docker old)" in finding.cause


def test_processes_that_can_not_be_read_are_not_taken_for_none(roomy: Fabric, change: Any) -> None:
    gpus = roomy.nodes[0].gpus
    assert not isinstance(gpus, Unknown)
    blind = change.node(roomy, "alpha", gpus=(gpus[0].model_copy(update={"processes": Unknown(unknown="no right")}),))
    assert bad(judged(blind)) == [("gpu-idle", "alpha", "unknown")]


def test_a_node_without_gpus_has_neither_tenants_nor_a_general_floor(roomy: Fabric, change: Any) -> None:
    bare = change.host(change.node(roomy, "alpha", gpus=()), "alpha", memory_available=1)
    assert {one.id for one in judged(bare) if one.node == "alpha"} == {"memlock", "shm"}
    assert bad(judged(bare, Floors(memory_gib=1.0))) == [("memory", "alpha", "differs")]


@pytest.mark.parametrize(("gib", "outcome"), [(9.9, "differs"), (10.0, "ok")])
def test_unified_memory_keeps_ten_gib(roomy: Fabric, change: Any, gib: float, outcome: str) -> None:
    gpus = roomy.nodes[0].gpus
    assert not isinstance(gpus, Unknown)
    shared = change.node(roomy, "alpha", gpus=(gpus[0].model_copy(update={"integrated": True}),))
    checks = judged(change.host(shared, "alpha", memory_available=int(gib * GIB)))
    (memory,) = [one for one in checks if (one.id, one.node) == ("memory", "alpha")]
    assert (memory.outcome, memory.expected) == (outcome, "at least 10.0 GiB")


def test_the_profiles_floor_wins(roomy: Fabric) -> None:
    checks, findings = judge_room(roomy, Floors(memory_gib=100.0), NOBODY, {})
    assert bad(checks) == [("memory", "alpha", "differs"), ("memory", "beta", "differs")]
    assert {one.id for one in findings} == {"memory-available-low"}
    assert all("has 64.0 GiB of free memory (MemAvailable)" in one.cause for one in findings)


def test_memory_of_a_server_that_runs_is_its_own(roomy: Fabric) -> None:
    checks = judge_room(roomy, Floors(memory_gib=100.0), NOBODY, {"alpha": frozenset({7}), "beta": frozenset()})[0]
    assert bad(checks) == [("memory", "beta", "differs")]


def test_memory_that_can_not_be_read_is_unknown(roomy: Fabric, change: Any) -> None:
    blind = change.host(roomy, "beta", memory_available=Unknown(unknown="no /proc"))
    assert bad(judged(blind, Floors(memory_gib=1.0))) == [("memory", "beta", "unknown")]


@pytest.mark.parametrize(("limit", "outcome"), [(-1, "ok"), (64 << 20, "ok"), ((64 << 20) - 1, "differs")])
def test_locked_memory_by_the_profiles_floor(roomy: Fabric, change: Any, limit: int, outcome: str) -> None:
    checks = judged(change.host(roomy, "beta", memlock=limit), Floors(memlock_mib=64))
    (one,) = [one for one in checks if (one.id, one.node) == ("memlock", "beta")]
    assert one.outcome == outcome
    assert bool(one.fix) == (outcome == "differs")


@pytest.mark.parametrize(("id", "check"), [("memlock-limit-too-low", "memlock"), ("dev-shm-too-small", "shm")])
def test_without_a_floor_the_checks_have_judged(roomy: Fabric, id: str, check: str) -> None:
    own = Finding(id=id, severity="warning", subject="beta", cause="too little", fix=("more",))
    checks, findings = judge_room(roomy.model_copy(update={"findings": (own,)}), Floors(), NOBODY, {})
    assert bad(checks) == [(check, "beta", "differs")]
    assert findings == [own]
    judged_by_floor = judge_room(
        roomy.model_copy(update={"findings": (own,)}), Floors(memlock_mib=1, shm_mib=1), NOBODY, {}
    )
    assert bad(judged_by_floor[0]) == []


def test_shm_by_the_profiles_floor(roomy: Fabric) -> None:
    assert bad(judged(roomy, Floors(shm_mib=9000))) == [("shm", "alpha", "differs"), ("shm", "beta", "differs")]
