"""Parts of the written scripts, run by a real shell: exports, the choice by the machine's name, addresses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content
from fabricdoc.export.scripts import by_host, by_this_host, exports, master, server_exports
from tests.unit.export import readers
from tests.unit.export.presets_made import HARDER, HEAD, node, pair, preset

pytestmark = pytest.mark.unit


def matched(name: str, *, short: bool = True) -> str:
    """Which node's arm a real shell takes for a machine that calls itself so."""
    both = pair()
    arms = by_host(Content(both, both.nodes), [(one, [f"echo {one.name}"]) for one in both.nodes], short)
    script = "\n".join(['case "$1" in', *arms, "*)", "  echo none", "  ;;", "esac"])
    return subprocess.run(["sh", "-c", script, "sh", name], capture_output=True, text=True, timeout=20).stdout.strip()


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        ("spark1", "spark1"),
        ("spark-a", "spark1"),
        ("spark2.example.org", "spark2"),
        ("spark-b.lan", "spark2"),
        ("spark12", "none"),
        ("xspark1", "none"),
        ("spark1x.lan", "none"),
        ("", "none"),
        ("*", "none"),
    ],
)
def test_a_machine_is_known_by_its_names_with_or_without_domain(name: str, arm: str) -> None:
    assert matched(name) == arm


def test_a_scheduler_s_name_is_taken_as_it_is() -> None:
    assert matched("spark2", short=False) == "spark2"
    assert matched("spark2.example.org", short=False) == "none"


def test_patterns_in_a_name_are_letters(tmp_path: Path) -> None:
    odd = preset(node("a*?[x]", {"NCCL_X": "1"}))
    arms = by_host(Content(odd, odd.nodes), [(odd.nodes[0], ["echo it"])])
    script = "\n".join(['case "$1" in', *arms, "*) echo none ;;", "esac"])
    for name, said in (("a*?[x]", "it"), ("abcx", "none")):
        done = subprocess.run(["sh", "-c", script, "sh", name], capture_output=True, text=True, timeout=20)
        assert done.stdout.strip() == said


@pytest.mark.parametrize("name", ["a\nb", "ä", "a\x1b"])
def test_a_name_that_is_no_line_is_refused(name: str) -> None:
    odd = preset(node(name, {}))
    with pytest.raises(UsageError, match="node"):
        by_host(Content(odd, odd.nodes), [(odd.nodes[0], [":"])])


def test_a_strange_machine_ends_it() -> None:
    both = pair()
    script = "\n".join(["uname() { echo other; }", *by_this_host(Content(both, both.nodes), [(both.nodes[0], [":"])])])
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (1, "fabricdoc: host other is not in the preset\n")


def test_exports_are_lines_under_their_evidence(tmp_path: Path) -> None:
    lines = exports(node("a", HARDER), [("MORE", "it's")], indent="  ")
    assert lines[0] == "  # placed: seen in the log"
    assert readers.shell_reads("dash", "\n".join(lines), tmp_path) == {**HARDER, "MORE": "it's"}


def test_the_master_is_the_heads_address() -> None:
    both = pair()
    assert master(Content(both, both.nodes[1:])) == "192.168.100.10"
    bare = preset(node("a", HEAD))
    with pytest.raises(UsageError, match="no address"):
        master(Content(bare, bare.nodes))


def test_what_the_engine_needs_follows_the_presets_lines() -> None:
    both = pair()
    text = "\n".join(server_exports(Content(both, both.nodes[:1]), "VLLM_HOST_IP"))
    assert text.endswith("export VLLM_HOST_IP='192.168.100.10'")
    assert "export GLOO_SOCKET_IFNAME='enp1s0f1np1'" in text
    assert "HOST_IP" not in "\n".join(server_exports(Content(both, both.nodes[:1])))
