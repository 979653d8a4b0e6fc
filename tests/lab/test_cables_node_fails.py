"""A node that answers the scan and fails while cables are proven: exit status 4, a line that names it, the rest stands.

The lab's nodes run python through a program that lets the scan pass and then dies, hangs or refuses at its start, or
kills or stops the real python when the probe that a test names is begun; the command is the user's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
REFUSES = "echo 'no more processes' >&2; exit 1"
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


@pytest.fixture
def ring() -> Iterator[Lab]:
    with open_lab(LabSpec(nodes=("alpha", "beta", "gamma"), cabling="ring")) as opened:
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


def fabricdoc(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def ends(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (f"{one['a']['node']}/{one['a']['netdev']}", f"{one['b']['node']}/{one['b']['netdev']}")
        for one in document["links"]
    ]


ALPHA_GAMMA = [(f"alpha/{F1}", f"gamma/{F0}")]


@pytest.mark.parametrize(
    ("probe", "deed", "words"),
    [
        ("", DIES, "Segmentation fault"),
        ("", REFUSES, "no more processes"),
        ("", HANGS, "nothing of ours started there within 20 s"),
        ("beacon", KILLED, ""),
        ("beacon", STOPPED, "the beacon probe did not answer in 10 s"),
    ],
)
def test_a_node_that_fails_at_the_beacons_is_exit_4_and_the_others_links_stand(
    ring: Lab, tmp_path: Path, probe: str, deed: str, words: str
) -> None:
    folder = config_of(tmp_path, ring, failing="beta", deed=deed, probe=probe)
    status, out, err = fabricdoc(folder, "cables", "--json")
    assert status == 4, err
    document = json.loads(out)
    (failed,) = document["failed"]
    assert (failed["name"], failed["target"]) == ("beta", named(ring, "beta").target)
    assert words in failed["message"]
    assert failed["fix"]
    assert [node["name"] for node in document["nodes"]] == ["alpha", "beta", "gamma"]
    assert ends(document) == ALPHA_GAMMA
    assert document["links"][0]["proof"]["method"] == "beacon"
    assert [more["method"] for more in document["links"][0]["more_proofs"]] == ["ping"], "the later steps went on"
    silent = {one["subject"] for one in document["findings"] if one["id"] == "port-without-peer"}
    assert silent == {f"alpha/{F0}", f"gamma/{F1}"}
    assert not [one for one in document["findings"] if one["id"] in ("link-one-way", "bootstrap-port-blocked")]


def test_the_line_on_the_screen_names_the_node_and_what_to_do(ring: Lab, tmp_path: Path) -> None:
    folder = config_of(tmp_path, ring, failing="beta", deed=DIES)
    for command in ("cables", "scan"):
        status, out, _ = fabricdoc(folder, command)
        assert status == 4
        lines = out.splitlines()
        assert "3 nodes, 1 failed while cables were proven, 1 link proven" in lines[0]
        (at,) = [at for at, line in enumerate(lines) if line.startswith("beta  ") and "failed while cables" in line]
        assert any("fix" in line or "python" in line for line in lines[at + 1 : at + 5]), lines[at : at + 5]


@pytest.mark.parametrize("deed", [KILLED, STOPPED])
def test_a_node_that_fails_only_at_the_reach_test_keeps_its_links_and_blocks_nothing(
    ring: Lab, tmp_path: Path, deed: str
) -> None:
    folder = config_of(tmp_path, ring, failing="beta", deed=deed, probe="reach")
    status, out, err = fabricdoc(folder, "cables", "--json")
    assert status == 4, err
    document = json.loads(out)
    assert [one["name"] for one in document["failed"]] == ["beta"]
    assert len(document["links"]) == 3
    by_ends = {tuple(sorted((one["a"]["node"], one["b"]["node"]))): one for one in document["links"]}
    assert [more["method"] for more in by_ends["alpha", "gamma"]["more_proofs"]] == ["ping"]
    ids = {(one["id"], one["subject"]) for one in document["findings"]}
    assert ("reach-not-tried", "beta") in ids
    assert not [one for one in ids if one[0] in ("bootstrap-port-blocked", "mtu-black-hole")]


def test_two_nodes_of_which_one_fails_are_no_healthy_pair(tmp_path: Path) -> None:
    with open_lab(LabSpec()) as lab:
        folder = config_of(tmp_path, lab, failing="beta", deed=DIES)
        status, out, _ = fabricdoc(folder, "scan", "--json")
    document = json.loads(out)
    assert (status, [one["name"] for one in document["failed"]], document["links"]) == (4, ["beta"], [])


def saved(folder: Path, words: Sequence[str]) -> int:
    return fabricdoc(folder, *words)[0]


def test_a_dump_of_such_a_scan_says_the_same_again(ring: Lab, tmp_path: Path) -> None:
    folder = config_of(tmp_path, ring, failing="beta", deed=DIES)
    assert saved(folder, ("scan", "--save", "kept")) == 4
    status, out, _ = fabricdoc(folder, "scan", "--from", "kept", "--json")
    document = json.loads(out)
    assert (status, [one["name"] for one in document["failed"]]) == (4, ["beta"])
    assert ends(document) == ALPHA_GAMMA
