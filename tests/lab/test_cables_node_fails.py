"""A node that answers the scan and fails while cables are proven: exit status 4, a line that names it, the rest stands.

The lab's nodes run python through a program that lets the scan pass and then dies or hangs at its start, or
kills or stops the real python when the probe that a test names is begun; the command is the user's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fabricdoc.lab import Lab, LabSpec, open_lab
from tests.lab.cabling import F0, F1, named
from tests.lab.conftest import SOURCE_ROOT

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]

# the python that proves the cables is started as `python -I -c LOADER SIZES several NONCE`
AT_START = """#!/bin/sh
case " $* " in *" several "*) {deed} ;; esac
exec {python} "$@"
"""
DIES = "echo 'Segmentation fault' >&2; exit 139"
HANGS = "exec sleep 100"
# stands between the controller and the real python, and does its deed when the probe of that name is begun
MIDWAY = """#!{python} -I
import os, signal, subprocess, sys, threading
child = subprocess.Popen([{python!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
def copy():
    seen = b""
    while data := os.read(0, 65536):
        seen = seen[-100:] + data
        if b'"probe":"{probe}"' in seen:
            os.kill(child.pid, signal.{deed})
            return
        child.stdin.write(data)
        child.stdin.flush()
    child.stdin.close()
threading.Thread(target=copy, daemon=True).start()
sys.exit(child.wait() and 137)
"""
KILLED, STOPPED = "SIGKILL", "SIGSTOP"


RING = LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")


@pytest.fixture(scope="module")
def ring() -> Iterator[Lab]:
    with open_lab(RING) as opened:
        yield opened


def config_of(folder: Path, lab: Lab, *, failing: str, deed: str, probe: str = "") -> Path:
    """A folder with a fabric.toml in which one node's python fails: at its start, or when that probe is begun."""
    wrapper = folder / "python-of-the-node"
    text = MIDWAY if probe else AT_START
    text = text.replace("{python!r}", repr(sys.executable)).replace("{python}", sys.executable)
    wrapper.write_text(text.replace("{probe}", probe).replace("{deed}", deed))
    wrapper.chmod(0o755)
    lines = []
    for node in lab.nodes:
        lines += ["[[node]]", f'name = "{node.name}"', f'target = "{node.target}"', f'ports = ["{F0}", "{F1}"]']
        lines += [f'python = "{wrapper}"'] if node.name == failing else []
    (folder / "fabric.toml").write_text("\n".join(lines) + "\n")
    return folder


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "fabricdoc", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def fabricdoc(folder: Path, *words: str) -> tuple[int, str, str]:
    process = started(folder, *words)
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


class Case(NamedTuple):
    """How beta fails: at its start, or when a probe is begun; and what is said of it."""

    probe: str
    deed: str
    words: str


DIED = Case("", DIES, "Segmentation fault")
HUNG = Case("", HANGS, "nothing of ours started there within 20 s")
KILLED_THERE = Case("beacon", KILLED, "")
SILENT_THERE = Case("beacon", STOPPED, "the beacon probe did not answer in 10 s")
SILENT_AT_REACH = Case("reach", STOPPED, "")
WAITED_FOR = (HUNG, SILENT_THERE, SILENT_AT_REACH)
"""These take until a deadline of ours: each is begun on a ring of its own, and looked at last."""

Answers = Callable[[Case], tuple[Lab, int, dict[str, Any]]]


@pytest.fixture(scope="module")
def answer(ring: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """`answer(case)`: the lab, the exit status and the document of `cables --json` where beta fails so."""

    def begin(case: Case, lab: Lab) -> subprocess.Popen[str]:
        folder = tmp_path_factory.mktemp("cables")
        return started(config_of(folder, lab, failing="beta", deed=case.deed, probe=case.probe), "cables", "--json")

    with ExitStack() as stack:
        labs = {case: stack.enter_context(open_lab(RING)) for case in WAITED_FOR}
        begun = {case: begin(case, lab) for case, lab in labs.items()}
        for process in begun.values():
            stack.callback(process.kill)

        def wait(case: Case) -> tuple[Lab, int, dict[str, Any]]:
            lab = labs.get(case, ring)
            process = begun.get(case) or begin(case, lab)
            out, err = process.communicate(timeout=100)
            assert out, err
            return lab, process.returncode, json.loads(out)

        yield wait


def ends(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (f"{one['a']['node']}/{one['a']['netdev']}", f"{one['b']['node']}/{one['b']['netdev']}")
        for one in document["links"]
    ]


ALPHA_GAMMA = [(f"alpha/{F1}", f"gamma/{F0}")]


def test_a_dump_of_such_a_scan_says_the_same_again_and_the_screen_names_the_node(ring: Lab, tmp_path: Path) -> None:
    folder = config_of(tmp_path, ring, failing="beta", deed=DIES)
    status, out, _ = fabricdoc(folder, "scan", "--save", "kept")
    assert status == 4
    lines = out.splitlines()
    assert "3 nodes, 1 failed while cables were proven, 1 link proven" in lines[0]
    (at,) = [at for at, line in enumerate(lines) if line.startswith("beta  ") and "failed while cables" in line]
    assert any("fix" in line or "python" in line for line in lines[at + 1 : at + 5]), lines[at : at + 5]
    status, out, _ = fabricdoc(folder, "scan", "--from", "kept", "--json")
    document = json.loads(out)
    assert (status, [one["name"] for one in document["failed"]]) == (4, ["beta"])
    assert ends(document) == ALPHA_GAMMA


def test_two_nodes_of_which_one_fails_are_no_healthy_pair(tmp_path: Path) -> None:
    with open_lab(LabSpec()) as lab:
        folder = config_of(tmp_path, lab, failing="beta", deed=DIES)
        status, out, _ = fabricdoc(folder, "scan", "--json")
    document = json.loads(out)
    assert (status, [one["name"] for one in document["failed"]], document["links"]) == (4, ["beta"], [])


@pytest.mark.parametrize("case", [DIED, KILLED_THERE, SILENT_THERE, HUNG], ids=["died", "killed", "silent", "hung"])
def test_a_node_that_fails_at_the_beacons_is_exit_4_and_the_others_links_stand(answer: Answers, case: Case) -> None:
    lab, status, document = answer(case)
    assert status == 4
    (failed,) = document["failed"]
    assert (failed["name"], failed["target"]) == ("beta", named(lab, "beta").target)
    assert case.words in failed["message"]
    assert failed["fix"]
    assert [node["name"] for node in document["nodes"]] == ["alpha", "beta", "gamma"]
    assert ends(document) == ALPHA_GAMMA
    assert document["links"][0]["proof"]["method"] == "beacon"
    assert [more["method"] for more in document["links"][0]["more_proofs"]] == ["ping"], "the later steps went on"
    silent = {one["subject"] for one in document["findings"] if one["id"] == "port-without-peer"}
    assert silent == {f"alpha/{F0}", f"gamma/{F1}"}
    assert not [one for one in document["findings"] if one["id"] in ("link-one-way", "bootstrap-port-blocked")]


@pytest.mark.parametrize("case", [Case("reach", KILLED, ""), SILENT_AT_REACH], ids=["killed", "silent"])
def test_a_node_that_fails_only_at_the_reach_test_keeps_its_links_and_blocks_nothing(
    answer: Answers, case: Case
) -> None:
    _, status, document = answer(case)
    assert status == 4
    assert [one["name"] for one in document["failed"]] == ["beta"]
    assert len(document["links"]) == 3
    by_ends = {tuple(sorted((one["a"]["node"], one["b"]["node"]))): one for one in document["links"]}
    assert [more["method"] for more in by_ends["alpha", "gamma"]["more_proofs"]] == ["ping"]
    ids = {(one["id"], one["subject"]) for one in document["findings"]}
    assert ("reach-not-tried", "beta") in ids
    assert not [one for one in ids if one[0] in ("bootstrap-port-blocked", "mtu-black-hole")]
