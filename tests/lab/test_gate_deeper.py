"""The gate's smoke and full levels by real launches on the nodes of a lab: healthy, and one real fault at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.bench import Agents, side_by_side
from fabricdoc.fabric import map_cables, scan, within
from fabricdoc.gate import gate_status
from fabricdoc.lab import Lab
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck, Level
from fabricdoc.model.preset import Preset
from fabricdoc.workflow import Asked, check_gate, gate_all_reduce, gate_smoke
from fabricdoc.workflow.checking import DEADLINES_S
from fabricdoc.workflow.gate_all_reduce import Trial, all_reduced
from fabricdoc.workflow.gate_bandwidth import ALL, RAIL
from fabricdoc.workflow.gate_full import full
from fabricdoc.workflow.gate_launches import limits
from fabricdoc.workflow.gate_smoke import split
from fabricdoc.workflow.gate_smoke_answers import EXACT, LATENCY, LAUNCH, PATH
from fabricdoc.workflow.gate_time import OUT_OF_TIME, TIME
from tests.lab.cabling import F0, LINK, done
from tests.lab.measured import lab_specs, measured_preset, with_values

pytestmark = [pytest.mark.lab, pytest.mark.timeout(400)]

SIZES = (8192, 1 << 18)
SLOW_MBIT = 10
LIMIT = LINK + f"ip.tc(sys.argv[2], 'tbf', at, 0x10000, rate='{SLOW_MBIT}mbit', burst=20000, latency='400ms')"
Inside = Callable[..., "subprocess.CompletedProcess[str]"]
Found = tuple[tuple[GateCheck, ...], tuple[Finding, ...]]


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Fewer calls and smaller messages than the data says: a slow rail must not take minutes."""
    patch = pytest.MonkeyPatch()
    data: Mapping[str, Any] = limits()
    patch.setitem(data["smoke"], "calls", {"eager": 3, "throughput": 3})
    patch.setitem(data["smoke"], "warmup", 2)
    patch.setitem(data["full"]["size"], "gloo", 1 << 20)
    patch.setitem(data["full"], "calls", {"throughput": 1})
    yield
    patch.undo()


@pytest.fixture(scope="module")
def agents(lab: Lab) -> Iterator[Agents]:
    pytest.importorskip("torch", reason="the deeper levels launch gloo ranks")
    with Agents(lab_specs(lab)) as started:
        yield started


@pytest.fixture(scope="module")
def preset(lab: Lab, agents: Agents) -> Preset:
    return measured_preset(lab, agents, SIZES)


@pytest.fixture(scope="module")
def fabric(lab: Lab, preset: Preset) -> Fabric:
    specs = lab_specs(lab)
    return map_cables(specs, scan(specs, deadline_s=20))


@pytest.fixture
def slowed(lab: Lab, inside: Inside) -> Iterator[None]:
    """What alpha sends over its first rail is held to 10 Mbit/s; the other direction and rail are as before."""
    done(inside(lab.nodes[0].pid, LIMIT, F0, "add"))
    yield
    done(inside(lab.nodes[0].pid, LIMIT, F0, "del"))


def smoked(agents: Agents, preset: Preset, fabric: Fabric) -> Found:
    return split(all_reduced(agents, Trial(preset, (), fabric, lambda _: None)))


def with_times(preset: Preset, **times: float) -> Preset:
    """The preset with other measured times: a test must not hang on how busy its machine is."""
    return preset.model_copy(update={"latencies": tuple(one.model_copy(update=times) for one in preset.latencies)})


def outcomes(found: Found) -> dict[str, set[str]]:
    told: dict[str, set[str]] = {}
    for one in found[0]:
        told.setdefault(one.id, set()).add(one.outcome)
    return told


def test_the_preset_tells_what_was_measured(preset: Preset) -> None:
    assert {one.size for one in preset.latencies if one.view == "eager"} == set(SIZES)
    assert all(0 < one.low_us <= one.median_us <= one.high_us and one.launches == 2 for one in preset.latencies)


@pytest.mark.parametrize(("level", "ids"), [("smoke", {PATH, EXACT, LATENCY}), ("full", {PATH, EXACT, LATENCY, RAIL})])
def test_healthy_is_go_at_each_level(
    lab: Lab,
    agents: Agents,
    preset: Preset,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    level: Level,
    ids: set[str],
) -> None:
    """The whole gate, the quick part first; agents that have torch loaded already spare some seconds."""
    monkeypatch.setattr(gate_smoke, "Agents", lambda *_, **__: nullcontext(agents))
    of, specs = with_times(preset, high_us=1e6), tuple(lab_specs(lab))
    gate = check_gate(Asked(of, specs, level=level, deadline_s=DEADLINES_S[level], store=tmp_path / "runs.sqlite"))
    assert gate.answer == "go", gate.reason
    assert {one.id for one in gate.checks if one.outcome == "ok"} > ids | {"peer", "time"}
    assert gate.findings == ()


def test_a_slow_direction_is_named_by_both_levels_and_gone_after_the_repair(
    agents: Agents, preset: Preset, fabric: Fabric, slowed: None
) -> None:
    """The real rail is slowed; the other direction of the same cable is not blamed."""
    preset = with_times(preset, low_us=500.0, median_us=800.0, high_us=1000.0)
    found = smoked(agents, preset, fabric)
    assert "differs" in outcomes(found)[LATENCY]
    assert {one.id for one in found[1]} == {LATENCY}
    assert "in both launches" in found[1][0].cause
    checks, findings = full(agents, preset, fabric, lambda _: None, "NODES")
    slow = [(one.id, one.node) for one in checks if one.outcome == "differs"]
    assert slow == [(RAIL, "alpha")]
    (cause,) = findings
    assert (cause.id, cause.subject) == (RAIL, f"alpha/{F0}")
    assert cause.cause.startswith("from alpha to beta ")


def test_wrong_sums_in_a_real_launch_are_no_go(
    agents: Agents, preset: Preset, fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = gate_all_reduce.errand

    def errand(*of: Any) -> Any:
        return planted(*of[:-1], {**of[-1], "plant": {"flip": {"rank": 1, "call": 2}, "size": SIZES[0]}})

    monkeypatch.setattr(gate_all_reduce, "errand", errand)
    found = smoked(agents, preset, fabric)
    assert outcomes(found)[EXACT] == {"differs"}
    assert LATENCY not in outcomes(found)
    assert "8192 B" in found[1][0].cause


def test_a_value_no_launch_can_use_names_a_node_and_shows_its_words(
    agents: Agents, preset: Preset, fabric: Fabric
) -> None:
    found = smoked(agents, with_values(preset, GLOO_SOCKET_IFNAME="absent0"), fabric)
    ((check,), (cause,)) = found
    assert (check.id, check.outcome) == (LAUNCH, "differs")
    assert cause.subject in ("alpha", "beta")
    assert "absent0" in cause.cause or any("absent0" in line.text for line in cause.evidence)


def test_a_rank_that_hangs_ends_within_the_gates_time_and_is_named(
    agents: Agents, preset: Preset, fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real process is stopped as soon as it is there; what it held up could not be told."""
    keep = side_by_side._Lanes._keep

    def stopping(lanes: Any, lane: Any, event: str, name: str, message: Mapping[str, Any]) -> None:
        if (event, name) == ("forked", "beta"):
            os.kill(message["pid"], signal.SIGSTOP)
        keep(lanes, lane, event, name, message)

    monkeypatch.setattr(side_by_side._Lanes, "_keep", stopping)
    begun = time.monotonic()
    with within(10.0):
        checks, (cause,) = smoked(agents, preset, fabric)
    assert time.monotonic() - begun < 60.0
    assert [(one.id, one.node, one.outcome) for one in checks] == [(LAUNCH, "beta", "failed"), (TIME, "", "failed")]
    assert cause.subject == "beta"
    assert "that the gate's deadline left it" in cause.cause


def test_after_all_that_it_is_go_again(agents: Agents, preset: Preset, fabric: Fabric) -> None:
    found = smoked(agents, with_times(preset, high_us=1e6), fabric)
    assert {outcome for told in outcomes(found).values() for outcome in told} == {"ok"}
    assert ALL not in outcomes(found)


def test_an_agent_that_hangs_in_the_middle_of_a_full_gate_does_not_hold_it(
    lab: Lab, agents: Agents, preset: Preset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The last of these tests: it costs the agents. The whole gate, with its quick part, told of in one document."""
    launched = gate_all_reduce.run_side_by_side

    def hanging(of: Agents, errands: Any) -> Any:
        os.kill(of.hello["beta"]["pid"], signal.SIGSTOP)
        return launched(of, errands)

    monkeypatch.setattr(gate_all_reduce, "run_side_by_side", hanging)
    monkeypatch.setattr(gate_smoke, "Agents", lambda *_, **__: nullcontext(agents))
    begun = time.monotonic()
    gate = check_gate(
        Asked(preset, tuple(lab_specs(lab)), level="full", deadline_s=15.0, store=tmp_path / "runs.sqlite")
    )
    assert time.monotonic() - begun < 60.0
    assert (gate.answer, int(gate_status(gate))) == ("node-failed", 4), gate.reason
    failed = [(one.id, one.node) for one in gate.checks if one.outcome == "failed"]
    assert failed == [(TIME, ""), (LAUNCH, "beta")]
    told = {one.id: one for one in gate.findings}
    assert told[LAUNCH].cause.endswith("beta: the agent stopped answering")
    assert told[OUT_OF_TIME].cause.endswith("not done: the all-reduce, the bandwidth")
    assert "or give it more time: --deadline 30" in told[OUT_OF_TIME].fix
