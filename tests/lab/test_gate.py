"""The quick gate on a lab with real faults: each is a no-go that names id, node and port; mended, it is a go again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import LabSpec, open_lab
from fabricdoc.store import list_gates
from fabricdoc.workflow import read_where
from tests.lab.cabling import F0, F1, LINK, MOVE_ADDRESS, SET_MTU, done
from tests.lab.conftest import Inside, StartInside
from tests.lab.gate_lab import FLOORS, LOW_MEMLOCK, ROOT, GateLab, goes, refused, refusing

pytestmark = pytest.mark.lab

SET_STATE = LINK + "ip.link('set', index=at, state=sys.argv[2])"
# the two cables of a node exchanged: names, MACs and addresses stay with the ports, and what they meet is the other's
SWAP = """
import sys, pyroute2
ip = pyroute2.IPRoute(); one, two = sys.argv[1:3]
at = {name: ip.link_lookup(ifname=name)[0] for name in (one, two)}
mac = {name: dict(ip.get_links(at[name])[0]['attrs'])['IFLA_ADDRESS'] for name in at}
kept = {name: [(dict(a['attrs'])['IFA_ADDRESS'], a['prefixlen']) for a in ip.get_addr(family=2, index=at[name])]
        for name in at}
for name in at: ip.link('set', index=at[name], state='down')
for name in at: ip.link('set', index=at[name], ifname='moving' + name[-1])
for name, other in ((one, two), (two, one)):
    ip.link('set', index=at[other], ifname=name, address=mac[name])
    ip.flush_addr(index=at[other], family=2)
    for address, prefix in kept[name]: ip.addr('add', index=at[other], address=address, prefixlen=prefix)
for name in at: ip.link('set', index=at[name], state='up')
"""
HOLD = "import socket, sys; s = socket.create_server(('', int(sys.argv[1]))); print('up', flush=True); sys.stdin.read()"
# holds memory that it has written to; where there should be too little for all, it is the first to go
TAKE = (
    "import sys; open('/proc/self/oom_score_adj', 'w').write('1000'); held = bytearray(int(sys.argv[1]))\n"
    "for at in range(0, len(held), 4096): held[at] = 1\n"
    "print('up', flush=True); sys.stdin.read()"
)
GIB = 1 << 30
TAKEN = 2 * GIB
SERVE = (
    "import os, socket, sys; s = socket.create_server(('', 29500));"
    "os.environ.update(a.split('=') for a in sys.argv[2:]); os.execve(sys.executable,"
    "[sys.executable, '-c', 'import sys; print(chr(117) + chr(112), flush=True); sys.stdin.read()'], dict(os.environ))"
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateLab]:
    """One crossed pair for all of these tests, each of which mends what it broke."""
    with open_lab(LabSpec()) as lab:
        yield GateLab(lab, tmp_path_factory.mktemp("gate"))


def test_a_healthy_pair_is_a_go(pair: GateLab) -> None:
    gate = pair.gate()
    assert goes(gate)
    assert {one.node for one in gate.checks} == {"", "alpha", "beta"}
    ids = {one.id for one in gate.checks}
    assert {"peer", "mtu", "carrier", "nccl-build", "gpu-idle", "memory", "memlock", "ports-free", "clock"} <= ids
    assert list_gates(pair.store)[0].id == gate.id


def test_a_link_that_is_down(pair: GateLab, inside: Inside) -> None:
    alpha = pair.node("alpha").pid
    done(inside(alpha, SET_STATE, F0, "down"))
    try:
        gate = pair.gate()
    finally:
        done(inside(alpha, SET_STATE, F0, "up"))
    check = refused(gate, "carrier", f"alpha/{F0}")
    assert f"sudo ip link set dev {F0} up" in check.fix
    assert gate.findings[0].id == "gate-port-no-carrier"
    assert goes(pair.gate())


def test_cables_exchanged(pair: GateLab, inside: Inside) -> None:
    alpha = pair.node("alpha").pid
    done(inside(alpha, SWAP, F0, F1))
    try:
        gate = pair.gate()
    finally:
        done(inside(alpha, SWAP, F0, F1))
    assert refused(gate, "peer", f"alpha/{F0}").found == f"beta/{F0}"
    assert refused(gate, "peer", f"beta/{F1}").found == f"alpha/{F1}"
    assert goes(pair.gate())


def test_an_address_that_moved(pair: GateLab, inside: Inside) -> None:
    beta = pair.node("beta")
    done(inside(beta.pid, MOVE_ADDRESS, F0, beta.addresses[0], F1))
    try:
        gate = pair.gate()
    finally:
        done(inside(beta.pid, MOVE_ADDRESS, F1, beta.addresses[0], F0))
    check = refused(gate, "address", f"beta/{F0}")
    assert f"sudo ip address add {beta.addresses[0]}/24 dev {F0}" in check.fix
    assert goes(pair.gate())


def test_an_mtu_lowered_at_one_end(pair: GateLab, inside: Inside) -> None:
    beta = pair.node("beta").pid
    done(inside(beta, SET_MTU, F1, 1500))
    try:
        gate, drifted = pair.gate(), pair.gate(drift="report")
    finally:
        done(inside(beta, SET_MTU, F1, 9000))
    check = refused(gate, "mtu", f"beta/{F1}")
    assert (check.expected, check.found) == ("9000", "1500")
    assert ("mtu-alike", f"beta/{F1}") in refusing(gate) or ("mtu-alike", f"alpha/{F0}") in refusing(gate)
    assert ("mtu", f"beta/{F1}") not in refusing(drifted)
    assert drifted.answer == "no-go"  # two ends that differ break things whatever was measured
    assert goes(pair.gate())


def test_a_port_of_the_launcher_that_is_taken(pair: GateLab, start_inside: StartInside) -> None:
    server = start_inside(pair.node("alpha").pid, HOLD, 29611)
    assert server.stdout is not None and server.stdout.readline() == "up\n"
    launch = ("torchrun", "--nnodes=2", "--master-port", "29611", "serve.py")
    gate = pair.gate(launch=launch)
    check = refused(gate, "ports-free", "alpha")
    assert check.expected == "tcp port 29611 is free"
    assert f"(pid {server.pid})" in check.found
    waived = pair.gate(launch=launch, waived={"ports-free": "the old server is about to end"})
    assert goes(waived)
    assert (waived.waivers[0].used, waived.waivers[0].reason) == (True, "the old server is about to end")
    assert goes(pair.gate(launch=launch, local="alpha"))  # a taken port drains no node
    server.kill()
    server.wait()
    assert goes(pair.gate(launch=launch))


def test_a_low_limit_of_locked_memory(pair: GateLab) -> None:
    with pair.broken("beta", memlock=LOW_MEMLOCK):
        gate = pair.gate()
    assert refused(gate, "memlock", "beta").found == "16 KiB"
    assert goes(pair.gate())


def test_another_build_of_nccl_on_one_node(pair: GateLab) -> None:
    with pair.broken("beta", nccl="2.27.3"):
        gate = pair.gate()
        drifted = pair.gate(drift="report")
    check = refused(gate, "nccl-build", "beta")
    assert (check.expected, check.found) == ("2.28.9", "2.27.3+cuda13.0")
    assert ("nccl-build", "beta") not in refusing(drifted)
    assert goes(pair.gate())


def test_a_process_on_the_gpu(pair: GateLab, start_inside: StartInside) -> None:
    """The driver's list is invented, the process is real: it is named, with the line that ends it."""
    tenant = start_inside(pair.node("alpha").pid, "import sys; print('up', flush=True); sys.stdin.read()")
    assert tenant.stdout is not None and tenant.stdout.readline() == "up\n"
    with pair.broken("alpha", tenants=[tenant.pid]):
        gate = pair.gate()
        own = pair.gate(wheres=(read_where("pid", [f"alpha={tenant.pid}"]),))
    check = refused(gate, "gpu-idle", "alpha")
    assert f"(pid {tenant.pid}" in check.found
    assert ("gpu-idle", "alpha") not in refusing(own)  # with --pid it is the server that is judged
    assert ("delivery", "alpha") in refusing(own)  # and that server has none of the preset's variables
    assert goes(pair.gate())


def test_variables_that_do_not_reach_the_workers(pair: GateLab, tmp_path: Path) -> None:
    file = tmp_path / "beta.env"
    file.write_text(f"GLOO_SOCKET_IFNAME={F0}\nNCCL_IB_QPS_PER_CONNECTION=4\n")
    check = refused(pair.gate(env=(("beta", file),)), "delivery", "beta")
    assert "NCCL_IB_QPS_PER_CONNECTION differs" in check.found
    file.write_text("services:\n  vllm:\n    environment:\n      - GLOO_SOCKET_IFNAME=" + F0 + "\n")
    compose = file.rename(tmp_path / "docker-compose.yaml")
    check = refused(pair.gate(env=(("beta", compose),)), "delivery", "beta")
    assert "NCCL_IB_QPS_PER_CONNECTION missing" in check.found
    compose.write_text(compose.read_text() + "      - NCCL_IB_QPS_PER_CONNECTION=2\n")
    assert goes(pair.gate(env=(("beta", compose),)))


def test_memory_below_the_floor_of_the_profile(pair: GateLab, start_inside: StartInside, tmp_path: Path) -> None:
    """Real memory, taken by a process on beta; it is this machine's, so every node of a lab has less of it."""
    free = available()
    if free < 2 * TAKEN:
        pytest.skip(f"it takes {TAKEN >> 20} MiB, never more than half of what is free, and {free >> 20} MiB are")
    floor_gib = (free - TAKEN // 2) / GIB  # so that half of what is taken may come or go meanwhile
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text(FLOORS.replace("memory_gib = 0.25", f"memory_gib = {floor_gib}"))
    assert goes(pair.gate(folders=(tmp_path,)))
    taker = start_inside(pair.node("beta").pid, TAKE, TAKEN)
    assert taker.stdout is not None and taker.stdout.readline() == "up\n"
    full = pair.gate(folders=(tmp_path,))
    taker.kill()
    taker.wait()
    for node in ("alpha", "beta"):
        check = refused(full, "memory", node)
        assert check.expected == f"at least {floor_gib:.1f} GiB"
        assert 0 < float(check.found.removesuffix(" GiB")) <= floor_gib
        assert check.fix[-1] == "free -h"
    assert [(one.id, one.subject) for one in full.findings] == [
        ("memory-available-low", "alpha"),
        ("memory-available-low", "beta"),
    ]
    assert full.reason.startswith("alpha has ")
    assert goes(pair.gate(folders=(tmp_path,)))


def available() -> int:
    """MemAvailable of this machine, in bytes."""
    (line,) = [one for one in Path("/proc/meminfo").read_text().splitlines() if one.startswith("MemAvailable:")]
    return int(line.split()[1]) << 10


def test_a_preset_whose_time_is_over(pair: GateLab) -> None:
    old = pair.preset.model_copy(update={"expires": "2020-01-01T00:00:00Z"})
    assert refused(pair.gate(preset=old), "preset-expired", "").expected == "before 2020-01-01T00:00:00Z"
    assert goes(pair.gate(preset=pair.preset.model_copy(update={"expires": "2999-01-01T00:00:00Z"})))


def test_a_node_that_hangs_holds_nothing(pair: GateLab) -> None:
    """It stops itself before it says a word; the other node is judged, and the answer is there in time."""
    with pair.broken("beta", hang=True):
        begun = time.monotonic()
        gate = pair.gate(deadline_s=15.0)
        took = time.monotonic() - begun
    assert took < 45.0
    assert ("node", "beta") in refusing(gate)
    assert gate.answer in ("node-failed", "no-go")
    (failed,) = [one for one in gate.checks if (one.id, one.node) == ("node", "beta")]
    assert failed.outcome == "failed"
    assert any(one.node == "alpha" and one.outcome == "ok" for one in gate.checks)
    assert goes(pair.gate())


def test_the_command_says_it_in_a_line_a_file_and_a_status(pair: GateLab, tmp_path: Path) -> None:
    words = ["gate", "--preset", str(pair.file), "--presets", str(pair.folder), "--store", str(pair.store)]
    words += ["--deadline", "60", "--line", "--textfile", str(tmp_path / "gate.prom")]
    run = subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.startswith("fabricdoc gate: go preset=pair level=quick nodes=alpha,beta ")
    assert 'fabricdoc_gate_answer{preset="pair",level="quick",answer="go"} 1' in (tmp_path / "gate.prom").read_text()


def test_twenty_gates_of_a_healthy_pair_are_twenty_goes(pair: GateLab) -> None:
    assert [pair.gate().answer for _ in range(20)] == ["go"] * 20


def test_a_node_that_gives_no_answer_and_a_lab_that_is_gone(pair: GateLab) -> None:
    """The last of these tests: nothing brings that lab back."""
    python = pair.folder / "python-beta"
    python.chmod(0o600)
    gate = pair.gate()
    assert gate.answer == "node-failed"
    assert refusing(gate) == [("node", "beta")]
    assert gate.findings[0].id == "gate-node-unread"
    python.chmod(0o755)
    assert goes(pair.gate())
    os.kill(pair.node("beta").pid, signal.SIGKILL)
    gone = pair.gate()
    assert gone.answer == "node-failed"
    assert ("node", "beta") in refusing(gone)
