"""The outer main: every outcome is an exit status and one clear line."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.cli import main
from fabricdoc.cli.commands.measure import again
from fabricdoc.cli.options import split
from fabricdoc.workflow import NextBench

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words], capture_output=True, text=True, timeout=60, env=environment
    )


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in (
        "init",
        "scan",
        "cables",
        "bench",
        "recommend",
        "export-env",
        "gate",
        "run",
        "lint",
        "explain",
        "runs",
        "lab",
    ):
        assert f"  {command}" in out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fabricdoc 0.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bnech"], "No such command"),
        (["bench", "--no-such"], "No such option"),
        (["bench", "--blocks", "0"], "blocks"),
        (["bench", "--budget", "soon"], "not a duration"),
        (["bench", "--sizes", "8,x"], "not a message size"),
        (["bench", "--objective", "speed"], "unknown objective"),
        (["scan", "--nodes", "a=local,a=local"], "a"),
        (["scan", "--nodes", "-oProxyCommand=x"], "-oProxyCommand"),
        (["scan", "--nodes", "n[5-1]"], "backwards"),
        (["scan", "--hostfile", "absent.hosts"], "absent.hosts"),
        (["cables", "--hostfile", "absent.hosts"], "absent.hosts"),
        (["bench", "--hostfile", "absent.hosts"], "absent.hosts"),
        (["cables", "--hostfile", "f", "--nodes", "a"], "one of them"),
        (["cables", "--nodes", "a,b", "--format", "svg"], "text, dot, mermaid"),
        (["gate", "--preset", "absent.toml", "--slurm"], "absent.toml"),
        (["scan", "--slurm", "--nodes", "a"], "one of them"),
        (["scan", "--slurm"], "no Slurm allocation here"),
        (["bench", "--slurm"], "no Slurm allocation here"),
        (["scan", "--from", "x", "--hostfile", "f"], "asks no node"),
        (["lab", "up", "--cabling", "loose"], "loose"),
        (["gate", "--preset", "absent.toml"], "absent.toml"),
    ],
)
def test_wrong_words_are_one_line_and_exit_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err


def test_a_commands_own_json_is_not_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--preset", "absent.toml", "--", "vllm", "--json"]) == 2
    out, err = capsys.readouterr()
    assert "absent.toml" in err
    assert out == ""


def test_json_errors_are_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json", "--objective", "speed"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "fabricdoc/error/1"
    assert document["status"] == 2
    assert "decode" in document["fix"]


def test_no_run_yet_is_said_with_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for words in (["export-env"], ["gate"], ["recommend"], ["runs", "show"]):
        assert main(words) == 2
        assert "fabricdoc" in capsys.readouterr().err


def test_malformed_toml_names_the_file_and_the_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fabric.toml").write_text('[[node]]\nname = "a\n')
    assert main(["scan"]) == 2
    assert "fabric.toml" in capsys.readouterr().err


@pytest.mark.long
def test_a_closed_pipe_ends_quietly() -> None:
    script = f"{sys.executable} -m fabricdoc scan --json | head -c 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}])
def test_scan_of_this_machine_on_plain_terminals(env: dict[str, str]) -> None:
    done = run("scan", **env)
    assert done.returncode in (0, 1), done.stderr
    assert "\x1b" not in done.stdout
    assert "local" in done.stdout


@pytest.mark.long
def test_scan_json_is_one_fabric_document() -> None:
    done = run("scan", "--json")
    document = json.loads(done.stdout)
    assert document["schema"] == "fabricdoc/fabric/1"
    assert [node["name"] for node in document["nodes"]] == ["local"]
    assert isinstance(document["nodes"][0]["hcas"], list)


@pytest.mark.long
def test_one_node_has_nothing_to_measure_and_gets_the_line_to_paste() -> None:
    done = run("bench")
    assert done.returncode == 2
    assert "--nodes" in done.stderr


@pytest.mark.long
def test_an_unknown_host_is_named_and_exits_4() -> None:
    done = run("scan", "--nodes", "local,nosuchhost.invalid", "--json")
    assert done.returncode == 4
    document = json.loads(done.stdout)
    assert [node["name"] for node in document["nodes"]] == ["local"]
    assert [node["name"] for node in document["failed"]] == ["nosuchhost.invalid"]
    assert document["failed"][0]["fix"]


def test_split_takes_commas_and_repeats() -> None:
    assert split(["a,b", " c ", ",", ""]) == ["a", "b", "c"]


@pytest.mark.parametrize("words", [[], ["lab"], ["runs"]])
def test_a_bare_command_shows_its_help_as_text(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out = capsys.readouterr().out
    assert out.startswith("Usage: fabricdoc")
    assert "\\n" not in out
    assert "Commands:" in out


def test_no_command_of_the_list_is_cut_short(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-h"])
    commands = capsys.readouterr().out.split("Commands:")[1]
    assert "..." not in commands


@pytest.mark.parametrize("words", [["--backend", "mpi"], ["--profile", "nosuch"], ["--current", "absent.env"]])
def test_what_can_be_refused_is_refused_before_a_node_is_looked_at(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--nodes", "a=local,nosuchhost.invalid", *words]) == 2
    assert words[1].removesuffix(".env") in capsys.readouterr().err


def test_cables_need_two_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cables"]) == 2
    assert "fabricdoc cables --nodes" in capsys.readouterr().err


def test_the_line_to_paste_measures_to_the_end_without_the_old_limits() -> None:
    words = ["bench", "--nodes", "a,b", "--blocks", "2", "--budget=1s", "--profile", "x y"]
    pasted = again(words, NextBench("measure to the end", blocks=6))
    assert pasted == "fabricdoc bench --nodes a,b --profile 'x y' --blocks 6"
    assert again(words, NextBench("measure again")) == shlex.join(["fabricdoc", *words])


def test_the_line_to_paste_leaves_out_what_chose_candidates_and_nothing_beside_it() -> None:
    words = ["bench", "--both-nics", "--nodes", "a,b", "--candidates", "decode", "--current=x.env", "--blocks", "9"]
    after = NextBench("without", without=("--candidates", "--current", "--both-nics"))
    assert again(words, after) == "fabricdoc bench --nodes a,b --blocks 9"
    rails = NextBench("rails", without=("--candidates",), adding=("--both-nics",))
    assert again(["bench", "--candidates", "socket", "--json"], rails) == "fabricdoc bench --json --both-nics"
    dry = NextBench("", without=("--dry-run",))
    assert again(["bench", "--dry-run", "--nodes", "a,b"], dry) == "fabricdoc bench --nodes a,b"


@pytest.mark.long
@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["gate", "--preset", "absent.toml"], 2)])
def test_a_process_ends_with_the_status_and_all_of_its_words(words: list[str], status: int) -> None:
    done = run(*words)
    assert done.returncode == status
    assert (done.stdout if status == 0 else done.stderr).endswith("\n")


def test_a_graph_and_a_document_on_one_stdout_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cables", "--nodes", "a,b", "--format", "dot", "--json"]) == 2
    assert "--json and --format" in capsys.readouterr().err


INTERRUPTED_WHILE_LOADED = """
import runpy, sys
class Stop:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
runpy.run_module("fabricdoc", run_name="__main__", alter_sys=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("module", ["fabricdoc.cli.program", "fabricdoc.cli.signals", "fabricdoc.errors"])
def test_ctrl_c_while_the_program_is_loaded_is_no_traceback(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_LOADED, module], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
