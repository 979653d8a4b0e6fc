"""`fabricdoc gate` as a user types it, on a pair of lab nodes: what it prints, its statuses, what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from fabricdoc.lab import LabSpec, open_lab
from fabricdoc.model.gate import Gate
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow import read_where
from tests.lab.cabling import F0, F1, LINK, done
from tests.lab.conftest import Inside, StartInside
from tests.lab.gate_lab import ROOT, GateLab, goes, refusing

pytestmark = pytest.mark.lab

SET_STATE = LINK + "ip.link('set', index=at, state=sys.argv[2])"
BLACKHOLE = "import sys, pyroute2; pyroute2.IPRoute().route(sys.argv[1], dst=sys.argv[2] + '/32', type='blackhole')"
HOLD = "import socket, sys; s = socket.create_server(('', int(sys.argv[1]))); print('up', flush=True); sys.stdin.read()"
# a server of ours: it becomes another program with these variables, and keeps listening
SERVE = (
    "import os, socket, sys; s = socket.create_server(('', 29500)); s.set_inheritable(True);"
    "os.environ.update(a.split('=') for a in sys.argv[1:]); os.execve(sys.executable,"
    "[sys.executable, '-c', 'import sys; print(chr(117) + chr(112), flush=True); sys.stdin.read()'], dict(os.environ))"
)
# all that a gate could change on a node and a user would notice: settings, links, addresses, routes, rules, processes
SNAPSHOT = """
import json, os, pyroute2
found = {}
for top in ("/proc/sys/net", "/proc/sys/kernel", "/proc/sys/vm", "/sys/class/net"):
    for folder, _, names in os.walk(top, followlinks=False):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if not any(word in path for word in ("random", "pty/nr", "ns_last_pid", "stat_refresh")):
                    found[path] = open(path).read()
            except (OSError, UnicodeDecodeError):
                pass
ip = pyroute2.IPRoute()
told = {"IFLA_IFNAME", "IFLA_MTU", "IFLA_ADDRESS", "IFLA_OPERSTATE", "IFLA_PROMISCUITY", "IFLA_QDISC", "IFLA_MASTER"}
found["links"] = [[one["flags"], sorted(map(str, (a for a in one["attrs"] if a[0] in told)))] for one in ip.get_links()]
found["addresses"] = [str(dict(one["attrs"]).get("IFA_ADDRESS")) for one in ip.get_addr()]
found["routes"] = sorted(str([a for a in one["attrs"] if a[0] != "RTA_CACHEINFO"]) for one in ip.get_routes(table=254))
found["rules"] = sorted(str(one["attrs"]) for one in ip.get_rules())
found["qdiscs"] = sorted(str([a for a in one["attrs"] if a[0] == "TCA_KIND"]) for one in ip.get_qdiscs())
found["mine"] = sorted(pid for pid in os.listdir("/proc") if pid.isdigit() and same(pid))
print(json.dumps(found))
"""
SAME = """
import os
own = os.readlink("/proc/self/ns/net")
def same(pid):
    try:
        return pid != str(os.getpid()) and os.readlink(f"/proc/{pid}/ns/net") == own
    except OSError:
        return False
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateLab]:
    with open_lab(LabSpec()) as lab:
        made = GateLab(lab, tmp_path_factory.mktemp("commands"))
        (made.folder / "home").mkdir()
        yield made


def fabricdoc(pair: GateLab, *words: str) -> subprocess.CompletedProcess[str]:
    """Home, temporary files and cache of it and of what it starts on the nodes are in folders of their own."""
    own = ["--store", str(pair.store)]
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"), str(pair.folder / "home"))
    # bytecode would be kept in that cache, on the user's machine alone, which here is the nodes' too
    env = {**os.environ, **places, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"}
    at = words.index("--") if "--" in words else len(words)
    return subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words[:at], *own, *words[at:]],
        cwd=pair.folder / "home", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def gate(pair: GateLab, *words: str, preset: str = "") -> subprocess.CompletedProcess[str]:
    given = ["--preset", preset or str(pair.file), "--presets", str(pair.folder), "--deadline", "60"]
    return fabricdoc(pair, "gate", *given, *words)


def document(run: subprocess.CompletedProcess[str], status: int) -> Gate:
    """Its document, as the schema wants it."""
    assert run.returncode == status, run.stdout + run.stderr
    schema = json.loads((ROOT / "docs" / "schemas" / "gate-1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(run.stdout))
    return Gate.model_validate_json(run.stdout)


def named(pair: GateLab) -> str:
    return ",".join(f"{one.name}={one.target}" for one in pair.lab.nodes)


@contextmanager
def down(pair: GateLab, inside: Inside, node: str, port: str) -> Iterator[None]:
    done(inside(pair.node(node).pid, SET_STATE, port, "down"))
    try:
        yield
    finally:
        done(inside(pair.node(node).pid, SET_STATE, port, "up"))


def test_five_commands_of_a_healthy_pair_change_nothing_and_stand_in_the_history(
    pair: GateLab, inside: Inside, tmp_path: Path
) -> None:
    names = ("alpha", "beta")
    before = {name: json.loads(done(inside(pair.node(name).pid, SAME + SNAPSHOT))) for name in names}
    shown = gate(pair)
    assert (shown.returncode, shown.stdout.splitlines()) == (0, shown.stdout.splitlines()[:1]), shown.stderr
    assert shown.stdout.startswith("go for preset pair: all ")
    told = document(gate(pair, "--json"), 0)
    assert (told.answer, told.nodes, told.level, told.scope) == ("go", names, "quick", "all")
    line = gate(pair, "--line", "--textfile", str(tmp_path / "gate.prom"))
    assert (line.returncode, line.stdout.count("\n")) == (0, 1)
    assert 'answer="go"} 1' in (tmp_path / "gate.prom").read_text()
    own = document(gate(pair, "--json", "--local", "--node", "beta", "--hardware", "carrier,gpus"), 0)
    assert (own.scope, own.nodes, own.hardware) == ("local", ("beta",), ("carrier", "gpus"))
    assert {one.node for one in own.checks} == {"", "beta"}
    drift = document(gate(pair, "--json", "--drift", "report", "--waive", "carrier=it was looked after"), 0)
    assert (drift.drift, [(one.id, one.used) for one in drift.waivers]) == ("report", [("carrier", False)])
    after = {name: json.loads(done(inside(pair.node(name).pid, SAME + SNAPSHOT))) for name in names}
    for name in names:
        assert {key for key in before[name] if before[name][key] != after[name].get(key)} == set()
        assert len(before[name]) > 500
    assert list((pair.folder / "home").iterdir()) == [], "no file here or there"
    history = json.loads(fabricdoc(pair, "runs", "gates", "--json").stdout)["gates"]
    assert [one["id"] for one in history][:2] == [drift.id, own.id]
    assert (len(history), {one["answer"] for one in history}) == (5, {"go"})
    kept = fabricdoc(pair, "runs", "gates", told.id, "--json")
    assert Gate.model_validate_json(kept.stdout) == told


def test_a_link_that_is_down_in_the_words_of_the_command(pair: GateLab, inside: Inside) -> None:
    with down(pair, inside, "beta", F1):
        shown, told = gate(pair), document(gate(pair, "--json"), 1)
        own = document(gate(pair, "--json", "--local", "--node", "beta"), 1)
        listed = gate(pair, "--local", "--node", "beta", "--hardware", "gpus,memlock", "--line")
    assert shown.returncode == 1
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert shown.stdout.startswith("no-go for preset pair: ")
    text = " ".join(shown.stdout.split())
    assert f"sudo ip link set dev {F1} up" in shown.stdout
    assert f"beta/{F1}" in text and "on beta:" in text
    assert "for who administers the node: " in text and f"carrier (beta/{F1})" in text
    assert ("carrier", f"beta/{F1}") in refusing(told)
    assert told.findings[0].id == "gate-port-no-carrier"
    assert {one.place for one in own.checks if one.outcome == "differs"} == {f"beta/{F1}"}
    assert (listed.returncode, listed.stdout.split()[2]) == (0, "go"), "the administrator did not list it"


def test_a_textfile_that_can_not_be_written_does_not_hide_the_answer(pair: GateLab) -> None:
    os.mkfifo(pair.folder / "pipe")
    ended = gate(pair, "--json", "--textfile", str(pair.folder / "pipe"))
    assert (document(ended, 2).answer, "is no file" in ended.stderr) == ("go", True)


def test_without_a_preset_the_files_of_variables_are_judged(pair: GateLab, inside: Inside, tmp_path: Path) -> None:
    file = tmp_path / "nccl.env"
    file.write_text(f"GLOO_SOCKET_IFNAME={F0}\nNCCL_SOCKET_IFNAME={F0}\n")
    words = ("--nodes", named(pair), "--env", str(file))
    good = gate(pair, *words, preset="none")
    assert good.returncode == 0, good.stdout
    assert good.stdout.startswith("go without a preset: ")
    assert " ".join(good.stdout.split()).endswith("; nothing measured stands behind it")
    file.write_text("GLOO_SOCKET_IFNAME=absent0\n")
    bad = document(gate(pair, *words, "--json", preset="none"), 1)
    assert refusing(bad) == [("interface", "alpha/absent0"), ("interface", "beta/absent0")]
    assert bad.preset == "" and bad.reason.endswith("nothing measured stands behind it")
    file.write_text(f"GLOO_SOCKET_IFNAME={F0}\n")
    with down(pair, inside, "alpha", F0):
        assert gate(pair, *words, preset="none").returncode in (0, 1), "never could not tell, nor a failed node"


def test_a_launch_line_and_a_profile_that_are_not_the_presets(pair: GateLab) -> None:
    measured = pair.folder / "dense.toml"
    measured.write_text(preset_to_toml(pair.preset.model_copy(update={"profile": "dense-small-tp2"})))
    serve = ("--", "vllm", "serve", "org/model", "--nnodes", "2", "--master-port", "29611", "-tp", "2")
    usual = document(gate(pair, "--json", *serve, preset=str(measured)), 0)
    assert "tcp port 29611 is free" in {one.expected for one in usual.checks}
    assert {one.outcome for one in usual.checks if one.id == "profile"} == {"noted"}, "a profile of no one model"
    other = document(gate(pair, "--json", "--", "vllm", "serve", "org/model", "-tp", "1", preset=str(measured)), 1)
    assert refusing(other) == [("profile", "")]
    assert "collectives between nodes: some, the job has collectives between nodes: none" in other.reason
    assert any("fabricdoc bench" in line for line in other.findings[0].fix)
    named_one = document(gate(pair, "--json", "--profile", "mine", preset=str(measured)), 1)
    assert refusing(named_one) == [("profile", "")]
    assert "profile dense-small-tp2, the job has profile mine" in named_one.reason


def test_a_single_node_asks_for_memory_and_tenants_alone(
    pair: GateLab, inside: Inside, start_inside: StartInside, tmp_path: Path
) -> None:
    single = pair.preset.model_copy(update={"profile": "single-node"})
    with down(pair, inside, "alpha", F1):
        assert goes(pair.gate(preset=single))
    tenant = start_inside(pair.node("alpha").pid, "import sys; print('up', flush=True); sys.stdin.read()")
    assert tenant.stdout is not None and tenant.stdout.readline() == "up\n"
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text("[single-node]\nmemory_gib = 1000000\n")
    with pair.broken("alpha", tenants=[tenant.pid]):
        bad = pair.gate(preset=single, folders=(tmp_path,))
    assert bad.answer == "no-go"
    assert set(refusing(bad)) == {("gpu-idle", "alpha"), ("memory", "alpha"), ("memory", "beta")}


def test_a_preset_of_other_nodes_is_refused_with_the_difference(pair: GateLab) -> None:
    alpha, beta = pair.lab.nodes
    foreign = document(gate(pair, "--json", "--nodes", f"alpha={alpha.target},gamma={beta.target}"), 1)
    assert ("preset-nodes", "") in refusing(foreign)
    assert "the preset is of alpha, beta, and was held against alpha, gamma: gamma is none of its nodes" in (
        foreign.findings[0].cause
    )
    one, other = pair.specs()
    swapped = pair.gate(specs=(replace(one, target=beta.target), replace(other, target=alpha.target)))
    assert swapped.answer == "no-go"
    assert {("mac", f"alpha/{F0}"), ("address", f"alpha/{F0}"), ("address", f"beta/{F0}")} <= set(refusing(swapped))


def test_a_way_that_is_blocked_for_tcp(pair: GateLab, inside: Inside) -> None:
    beta, address = pair.node("beta").pid, pair.node("alpha").addresses[0]
    done(inside(beta, BLACKHOLE, "add", address))
    try:
        told = pair.gate()
    finally:
        done(inside(beta, BLACKHOLE, "del", address))
    assert told.answer == "no-go"
    assert {one for one in refusing(told) if one[0] == "ports-reached"} >= {("ports-reached", "beta")}
    assert "bootstrap-port-blocked" in {one.id for one in told.findings}


def test_what_can_not_be_read_is_3_and_a_node_that_is_gone_4(pair: GateLab) -> None:
    with pair.broken("beta", libraries="/nonexistent"):
        unknown = document(gate(pair, "--json"), 3)
    assert [(one.id, one.node) for one in unknown.checks if one.outcome == "unknown"] == [("nccl-build", "beta")]
    assert unknown.answer == "could-not-tell" and unknown.findings[0].fix
    targets = f"alpha={pair.node('alpha').target},beta=netns:4194303"
    gone = document(gate(pair, "--json", "--nodes", targets), 4)
    assert ("node", "beta") in refusing(gone)


def test_a_waiver_by_the_command_is_recorded_with_the_answer(pair: GateLab, start_inside: StartInside) -> None:
    server = start_inside(pair.node("alpha").pid, HOLD, 29611)
    assert server.stdout is not None and server.stdout.readline() == "up\n"
    words = ("--port", "29611", "--json")
    assert refusing(pair.gate(ports=(29611,))) == [("ports-free", "alpha")]
    waived = document(gate(pair, *words, "--waive", "ports-free=it ends before we start"), 0)
    kept = Gate.model_validate_json(fabricdoc(pair, "runs", "gates", waived.id, "--json").stdout)
    assert [(one.id, one.reason, one.used) for one in kept.waivers] == [("ports-free", "it ends before we start", True)]
    assert [one.waived for one in kept.checks if one.id == "ports-free"] == ["it ends before we start"]


def test_a_server_that_runs_is_judged_and_not_refused(pair: GateLab, start_inside: StartInside) -> None:
    """Its own GPU, port and variables are no reason to refuse it; what it lacks is."""
    values = {"alpha": F0, "beta": F0}
    servers = {
        name: start_inside(pair.node(name).pid, SERVE, f"GLOO_SOCKET_IFNAME={port}", "NCCL_IB_QPS_PER_CONNECTION=2")
        for name, port in values.items()
    }
    for server in servers.values():
        assert server.stdout is not None and server.stdout.readline() == "up\n"
    pids = {name: server.pid for name, server in servers.items()}
    with pair.broken("alpha", tenants=[pids["alpha"]]), pair.broken("beta", tenants=[pids["beta"]]):
        fresh = pair.gate()
        running = document(gate(pair, "--json", "--pid", f"alpha={pids['alpha']},beta={pids['beta']}"), 0)
        short = pair.gate(wheres=(read_where("pid", [f"alpha={pids['alpha']}"]),))
    assert {("gpu-idle", "alpha"), ("gpu-idle", "beta"), ("ports-free", "alpha")} <= set(refusing(fresh))
    assert {one.outcome for one in running.checks if one.id == "delivery"} <= {"ok", "noted"}
    assert ("gpu-idle", "beta") in refusing(short) and ("gpu-idle", "alpha") not in refusing(short)
