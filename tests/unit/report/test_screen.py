"""The screen: which stream says what, in memory and as a real process with real pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.errors import UsageError

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
CHILD = """
import os, sys
from fabricdoc.errors import NodeError
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.model.fabric import Fabric
from fabricdoc.report import Screen
finding = Finding(id="x", severity="error", subject="s", cause="caf\\u00e9 \\u540d\\x1b[31m", fix=("do it",))
screen = Screen(sys.stdout, sys.stderr, os.environ, as_json="--json" in sys.argv)
screen.step("scan")
screen.progress("looking at 2 nodes")
screen.document(Fabric(findings=(finding,) * int(os.environ.get("FINDINGS", "1"))))
screen.error(NodeError("no route", fix="look at the cable"))
screen.close()
sys.exit(7)
"""


def environment(**extra: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TERM": "xterm", **extra}


def child(*words: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(CHILD), *words]


def test_results_on_stdout_everything_else_on_stderr(record: Any, samples: Any) -> None:
    said = record()
    said.screen.step("scan")
    said.screen.progress("looking")
    said.screen.plan(samples.plan(), ("a note",))
    said.screen.document(samples.verdict())
    assert said.out.startswith("verdict    Use tree")
    assert "scan" not in said.out
    assert "fabricdoc export-env" not in said.out
    for piece in ("▸ scan\n", "looking\n", "bounds", "a note", "  fabricdoc export-env -o .\n"):
        assert piece in said.err


def test_json_is_one_document_and_nothing_else_on_stdout(record: Any, samples: Any) -> None:
    said = record(as_json=True)
    said.screen.step("scan")
    said.screen.progress("looking")
    said.screen.show(samples.fabric())
    said.screen.plan(samples.plan())
    said.screen.document(samples.fabric())
    assert json.loads(said.out)["schema"] == "fabricdoc/fabric/1"
    assert "next" not in said.err


@pytest.mark.parametrize("as_json", [True, False])
def test_lists_and_written_files(record: Any, as_json: bool) -> None:
    run = SimpleNamespace(
        id="r1", created="", status="complete", backend="gloo", nodes=("a",), launches=1, choice="base"
    )
    said = record(as_json=as_json)
    said.screen.runs([run])
    runs = said.out
    said = record(as_json=as_json)
    said.screen.written([Path("out/alpha.env")])
    if as_json:
        assert json.loads(runs)["runs"][0]["id"] == "r1"
        assert json.loads(runs)["schema"] == "fabricdoc/runs/1"
        assert json.loads(said.out)["files"] == ["out/alpha.env"]
    else:
        assert "r1" in runs
        assert "out/alpha.env" in said.out


def test_an_empty_list_says_how_to_begin(record: Any) -> None:
    said = record()
    said.screen.runs([])
    assert "fabricdoc demo" in said.err


def test_a_lab_comes_with_the_command_that_looks_at_it(record: Any) -> None:
    nodes = [SimpleNamespace(name=n, target=f"netns:{p}", ports=("p0", "p1")) for n, p in (("alpha", 1), ("beta", 2))]
    said = record()
    said.screen.lab(SimpleNamespace(labs=[SimpleNamespace(name="lab", nodes=nodes)]))
    assert "netns:1" in said.out
    assert "fabricdoc scan --nodes alpha=netns:1,beta=netns:2 --ports p0,p1" in " ".join(said.err.split())
    gone = record()
    gone.screen.lab(SimpleNamespace(labs=[SimpleNamespace(name="lab", nodes=nodes)]), removed=True)
    assert gone.out == "removed lab lab\n"
    assert gone.err == ""


def test_text_is_not_touched(record: Any) -> None:
    said = record({"COLUMNS": "40"})
    said.screen.text("# a comment that is longer than the screen is wide, with blanks  \nA=[b]\n")
    assert said.out == "# a comment that is longer than the screen is wide, with blanks  \nA=[b]\n"


def test_an_error_is_one_line_and_what_to_do(record: Any) -> None:
    error = UsageError("no node named \x1bgamma", fix="fabricdoc export-env --node alpha", id="no-such-node")
    said = record()
    said.screen.error(error)
    assert said.out == ""
    assert said.err == "fabricdoc: no node named \\x1bgamma\nfix: fabricdoc export-env --node alpha\n"
    long = UsageError("word " * 40 + "end", fix="fabricdoc scan --nodes " + ",".join(["alpha"] * 30))
    said = record()
    said.screen.error(long)
    assert said.err == f"fabricdoc: {long.message}\nfix: {long.fix}\n"
    said = record(as_json=True)
    said.screen.error(error)
    document = json.loads(said.out)
    assert (document["id"], document["status"]) == ("no-such-node", 2)
    assert document["fix"] == "fabricdoc export-env --node alpha"
    assert said.err.startswith("fabricdoc: no node")


def test_a_command_is_suggested_once(record: Any, samples: Any) -> None:
    said = record()
    said.screen.document(samples.verdict())
    said.screen.next_command("fabricdoc export-env -o .", "write them")
    assert said.err.count("export-env") == 1


@pytest.mark.long
def test_colour_on_a_terminal_and_nowhere_else(record: Any, samples: Any) -> None:
    def coloured(env: dict[str, str], *, terminal: bool) -> bool:
        said = record(env, terminal=terminal)
        said.screen.document(samples.fabric())
        said.screen.error(UsageError("x"))
        return "\x1b" in said.out + said.err

    assert coloured({"TERM": "xterm"}, terminal=True)
    assert not coloured({"TERM": "xterm"}, terminal=False)
    assert not coloured({"TERM": "xterm", "FORCE_COLOR": "1"}, terminal=False)
    assert not coloured({"TERM": "xterm", "NO_COLOR": "1"}, terminal=True)
    assert coloured({"TERM": "xterm", "NO_COLOR": ""}, terminal=True)
    assert not coloured({"TERM": "dumb"}, terminal=True)
    assert not coloured({}, terminal=True)


def test_progress_is_gone_before_anything_else_is_said(record: Any, samples: Any) -> None:
    said = record({"TERM": "xterm"}, terminal=True)
    said.screen.progress("looking at 2 nodes")
    assert said.err == "\rlooking at 2 nodes"
    said.screen.document(samples.gate())
    assert said.err.endswith("\r" + " " * 18 + "\r")
    dumb = record({"TERM": "dumb"}, terminal=True)
    dumb.screen.progress("looking")
    assert dumb.err == "looking\n"


@pytest.mark.parametrize(
    ("wished", "width"), [("60", 60), ("20", 40), ("500", 120), ("x", 80), ("", 80), ("99999999", 80)]
)
def test_columns(record: Any, samples: Any, wished: str, width: int) -> None:
    said = record({"COLUMNS": wished})
    said.screen.document(samples.all_long()[4])
    longest = max(len(row) for row in said.out.splitlines())
    assert longest <= width
    assert longest > width - 25


def test_streams_that_are_not_there(samples: Any) -> None:
    from fabricdoc.report import Screen

    screen = Screen(None, None, {})
    screen.document(samples.fabric())
    screen.progress("x")
    screen.error(UsageError("x"))
    screen.close()


@pytest.mark.long
def test_a_real_process_tells_stdout_from_stderr() -> None:
    result = subprocess.run(child(), env=environment(), capture_output=True, timeout=60, check=False)
    assert result.returncode == 7
    assert result.stdout.decode() == "0 nodes, 1 error\n\nerror: café 名\\x1b[31m  [x]\n  fix:\n    do it\n"
    assert result.stderr.decode() == ("▸ scan\nlooking at 2 nodes\nfabricdoc: no route\nfix: look at the cable\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("encoding", "cause"), [("ascii", b"caf? ?"), ("latin-1", b"caf\xe9 ?"), ("cp1252", b"caf\xe9 ?")]
)
def test_a_real_process_in_another_encoding(encoding: str, cause: bytes) -> None:
    variables = environment(PYTHONIOENCODING=encoding)
    result = subprocess.run(child(), env=variables, capture_output=True, timeout=60, check=False)
    assert result.returncode == 7
    assert b"error: " + cause + b"\\x1b[31m  [x]\n" in result.stdout
    assert result.stderr.startswith(b"> scan\n")


@pytest.mark.long
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_closed_pipe_is_quiet_and_leaves_the_status_alone(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        variables = environment(FINDINGS="600")
        result = subprocess.run(
            child(*words), env=variables, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert result.returncode == 7
    assert b"Traceback" not in result.stderr
    assert b"BrokenPipe" not in result.stderr
    assert b"no route" in result.stderr


@pytest.mark.long
def test_stderr_closed_too() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(child(), env=environment(), stdout=writing, stderr=writing, timeout=60, check=False)
    finally:
        os.close(writing)
    assert result.returncode == 7


@pytest.mark.long
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_said_once() -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            child("--json"), env=environment(), stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert b"can't write the output: No space left on device" in result.stderr
    assert b"Exception ignored" not in result.stderr


@pytest.mark.long
def test_a_program_started_without_stdout() -> None:
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *child()],
        env=environment(),
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert result.returncode == 7
    assert b"Traceback" not in result.stderr


def on_terminal(**extra: str) -> str:
    """What the child says when stdout and stderr are one real terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        child(), env=environment(**extra), stdout=follower, stderr=follower, stdin=subprocess.DEVNULL
    )
    os.close(follower)
    said = b""
    while select.select([leader], [], [], 30)[0]:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.close(leader)
    assert process.wait(30) == 7
    return said.decode()


@pytest.mark.long
def test_a_real_terminal() -> None:
    said = on_terminal()
    assert "\x1b[1;31merror: \x1b[0m" in said
    assert "\rlooking at 2 nodes\r" + " " * 18 + "\r" in said
    assert "\x1b[31m" not in said
    assert "\\x1b[31m" in said


@pytest.mark.long
@pytest.mark.parametrize("extra", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_real_terminal_without_colour(extra: dict[str, str]) -> None:
    said = on_terminal(**extra)
    assert "\x1b" not in said
    assert ("\rlooking" in said) == ("NO_COLOR" in extra)


def test_importing_the_room_loads_no_rich() -> None:
    script = "import sys, fabricdoc.report; print([name for name in sys.modules if name.split('.')[0] == 'rich'])"
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "[]\n"


def test_every_lab_of_several_has_its_command(record: Any) -> None:
    labs = [
        SimpleNamespace(name=name, nodes=(SimpleNamespace(name="alpha", target=f"netns:{pid}", ports=("p0",)),))
        for name, pid in (("lab", 7), ("other", 8))
    ]
    said = record({})
    said.screen.lab(SimpleNamespace(labs=labs))
    assert "to look at lab lab and prove" in said.err
    assert "to look at lab other and prove" in said.err
    assert "fabricdoc scan --nodes alpha=netns:8 --ports p0" in said.err
