"""Looks at a node before and after a launch: what they read, and what comes of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import states, tenants
from tests.drivers import Gpu, nvml

pytestmark = pytest.mark.unit

NO_GPU = {"sm_clock_mhz": {"unknown": "x"}, "throttled": {"unknown": "x"}, "processes": {"unknown": "x"}}


def write(root: Path, path: str, text: object) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    write(tmp_path, "proc/loadavg", "1.75 0.50 0.20 1/100 4321")
    for netdev in ("lo", "enp1s0f0np0"):
        for name, value in {"rx_bytes": 100, "tx_bytes": 200, "rx_errors": 3, "rx_packets": 9}.items():
            write(tmp_path, f"sys/class/net/{netdev}/statistics/{name}", value)
    port = "sys/class/infiniband/rocep1s0f0/ports/1"
    for name, value in {"port_xmit_data": 10, "port_rcv_data": 20, "link_downed": 1, "port_rcv_packets": 5}.items():
        write(tmp_path, f"{port}/counters/{name}", value)
    for name, value in {"out_of_sequence": 4, "np_cnp_sent": 2, "lifespan": 12, "rx_write_requests": 8}.items():
        write(tmp_path, f"{port}/hw_counters/{name}", value)
    return tmp_path


def looked(root: Path, library: Any = None) -> dict[str, Any]:
    said: dict[str, Any] = {}
    states.look(said.update, str(root), lambda name: library)
    return said


def test_ports_are_counted_in_bytes_with_what_went_wrong(node: Path) -> None:
    said = looked(node)
    assert said["load_1min"] == 1.75
    assert said["ports"] == {
        "enp1s0f0np0": {"sent": 200, "received": 100, "errors": {"rx_errors": 3}},
        "rocep1s0f0/1": {
            "sent": 40,
            "received": 80,
            "errors": {"link_downed": 1, "out_of_sequence": 4, "np_cnp_sent": 2},
        },
    }


def test_a_node_without_anything_says_so(tmp_path: Path) -> None:
    said = looked(tmp_path)
    assert said["ports"] == {}
    assert "loadavg" in said["load_1min"]["unknown"]
    assert said["gpu"] == {key: {"unknown": states.gpus.NO_DRIVER} for key in NO_GPU}


def test_the_first_gpus_clock_and_everybodys_processes(node: Path) -> None:
    write(node, "dev/nvidiactl", "")
    library = nvml([Gpu(clock=1980, reasons=0x4, pids=(7, 9)), Gpu(clock=300, pids=(9, 11), mps_pids=(12,))])
    assert looked(node, library)["gpu"] == {
        "sm_clock_mhz": 1980,
        "throttled": ["sw_power_cap"],
        "processes": [7, 9, 11, 12],
    }


@pytest.mark.parametrize(("library", "says"), [(nvml([Gpu()], init=9), "Driver Not Loaded"), (nvml([]), "no GPU")])
def test_a_driver_that_does_not_answer_is_a_reason(node: Path, library: Any, says: str) -> None:
    write(node, "dev/nvidiactl", "")
    assert all(says in fact["unknown"] for fact in looked(node, library)["gpu"].values())


def look(**changes: Any) -> dict[str, Any]:
    gpu = {"sm_clock_mhz": 1980, "throttled": [], "processes": []}
    return {"load_1min": 0.5, "ports": {}, "gpu": {**gpu, **changes.pop("gpu", {})}, **changes}


def test_two_looks_make_a_state() -> None:
    before = look(gpu={"throttled": ["gpu_idle"], "processes": [5]})
    after = look(load_1min=9.0, gpu={"sm_clock_mhz": 1200, "throttled": ["hw_thermal_slowdown", "sw_power_cap"]})
    assert states.between(before, after, []) == {
        "sm_clock_mhz": [1980, 1200],
        "throttled": ["hw_thermal_slowdown", "sw_power_cap"],
        "other_gpu_processes": [5],
        "load_1min": 0.5,
        "port_bytes": {},
        "port_errors": {},
    }


def test_a_look_that_did_not_answer_is_unknown_with_its_reason() -> None:
    state = states.between(look(), {"load_1min": 1.0}, [], "no answer within 4 s")
    assert state["sm_clock_mhz"] == {"unknown": "no answer within 4 s"}
    assert (state["throttled"], state["other_gpu_processes"]) == ([], []), "the first look is worth something"
    nothing = states.between({}, {}, [])
    assert nothing["load_1min"] == nothing["throttled"] == {"unknown": "not read"}


@given(
    sent=st.integers(0, 2**40), received=st.integers(0, 2**40), errors=st.integers(0, 1000), more=st.integers(0, 2**40)
)
def test_what_moved_is_the_difference(sent: int, received: int, errors: int, more: int) -> None:
    first = {"p0": {"sent": sent, "received": received, "errors": {"rx_errors": 1, "gone": 3}}}
    last = {"p0": {"sent": sent + more, "received": received, "errors": {"rx_errors": 1 + errors}}}
    volume, grown = states.moved(first, last)
    assert volume == {"p0": [more, 0]}
    assert grown == ({"p0 rx_errors": errors} if errors else {})


def test_a_port_that_came_or_went_or_has_no_counters_did_not_move() -> None:
    port = {"sent": 1, "received": 1, "errors": {}}
    mute = {"sent": None, "received": 4, "errors": {}}
    assert states.moved({"old": port, "mute": mute}, {"new": port, "mute": mute}) == ({}, {})


@pytest.mark.parametrize(
    ("before", "after", "ours", "first_namespace", "others"),
    [
        ([5], [5, 77], {77}, True, [5]),
        ([], [77, 88], {77}, True, [88]),
        ([], [77, 88], {1}, False, []),
        ({"unknown": "why"}, [1], set(), True, {"unknown": "why"}),
        ([3], {"unknown": "why"}, set(), True, [3]),
    ],
)
def test_only_processes_that_are_not_ours_are_others(
    before: Any, after: Any, ours: set[int], first_namespace: bool, others: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants, "is_first_pid_namespace", lambda: first_namespace)
    monkeypatch.setattr(tenants, "name", lambda pid: {3: "python3"}.get(pid, "other"))
    assert states.others(before, after, ours) == others


def test_the_server_of_mps_works_for_its_clients_and_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pid, name in ((5, "nvidia-cuda-mps-server"), (6, "python3")):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True)
        folder.joinpath("comm").write_text(f"{name[:15]}\n")  # TASK_COMM_LEN, include/linux/sched.h: 16 with its NUL
    whose = tenants.name
    monkeypatch.setattr(tenants, "name", lambda pid: whose(pid, str(tmp_path)))
    assert states.others([5, 6], {"unknown": "x"}, set()) == [6]
