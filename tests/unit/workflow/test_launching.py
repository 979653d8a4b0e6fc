"""What `run` sets and says: exactly what is exported, what it replaces, what it refuses, and a clean process after."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus, FabricdocError, InputError, ToolError, UsageError
from fabricdoc.export import judge_delivery, render
from fabricdoc.model.delivery import Arrival
from fabricdoc.model.preset import Preset
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow import make_start, preset_to_start
from fabricdoc.workflow.launching import IGNORED_BY_PYTHON, Start, find_program, open_files
from tests.unit.export.presets_made import node, pair, preset

pytestmark = pytest.mark.unit

HEAD, WORKER = "spark1", "spark2"
ROOT = Path(__file__).resolve().parents[3]
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LANG": "C"}
TRUE = ["true"]


def start(one: Preset, environ: dict[str, str] | None = None, name: str | None = None, **more: bool) -> Start:
    return make_start(one, TRUE, ENV if environ is None else environ, "elsewhere", node=name, **more)


def exported(one: Preset, name: str) -> dict[str, str]:
    chosen = next(each for each in one.nodes if each.name == name)
    return json.loads(render(one, chosen, "json"))["variables"]


@pytest.mark.parametrize("name", [HEAD, WORKER])
def test_each_node_gets_exactly_what_export_env_gives_it(name: str) -> None:
    made = start(pair(), name=name)
    assert dict(made.values) == exported(pair(), name) != {}
    assert dict(made.environment) == ENV | exported(pair(), name)
    assert (made.node, dict(made.replaced), dict(made.others)) == (name, {}, {})


def test_verify_env_would_call_it_delivered() -> None:
    """The one function of both commands, over the whole environment that the command is given."""
    made = start(pair(), {**ENV, "NCCL_NET": "Socket"}, name=WORKER)
    arrival = Arrival(node=WORKER, pid=1, environ=dict(made.environment), files=())
    found = judge_delivery(pair(), [arrival], {})
    assert {one.outcome for one in found.workers[0].variables} == {"delivered"}


def test_without_a_name_the_node_is_this_machines() -> None:
    assert make_start(pair(), TRUE, ENV, "spark-b").node == WORKER
    with pytest.raises(UsageError) as caught:
        start(pair())
    assert caught.value.fix.startswith("add --node ")


def test_what_is_replaced_is_named_with_both_values() -> None:
    """Values the environment has as the preset wants them, and variables of others, are no matter."""
    (name, value), *_ = exported(pair(), HEAD).items()
    made = start(pair(), {**ENV, name: "other", "UNTOUCHED": "x"}, name=HEAD)
    assert dict(made.replaced) == {name: "other"}
    assert f"replaced {name}: was other, is {value}" in "\n".join(made.told()).replace("'", "")
    assert made.environment["UNTOUCHED"] == "x"
    assert dict(start(pair(), {**ENV, name: value}, name=HEAD).replaced) == {}


def test_an_empty_value_is_another_value() -> None:
    """NCCL_NET= is not unset: it would be found by whoever reads the environment."""
    name = next(iter(exported(pair(), HEAD)))
    assert dict(start(pair(), {**ENV, name: ""}, name=HEAD).replaced) == {name: ""}


def test_keep_env_refuses_and_names_them_all() -> None:
    names = list(exported(pair(), HEAD))[:2]
    with pytest.raises(FabricdocError) as caught:
        start(pair(), {**ENV, **dict.fromkeys(names, "other")}, name=HEAD, keep_env=True)
    assert (caught.value.status, caught.value.id) == (ExitStatus.NOT_FIT, "env-differs-from-preset")
    assert all(name in caught.value.message and name in caught.value.fix for name in names)
    kept = start(pair(), {**ENV, names[0]: exported(pair(), HEAD)[names[0]]}, name=HEAD, keep_env=True)
    assert dict(kept.replaced) == {}


def test_nccls_other_variables_are_told_and_kept() -> None:
    made = start(pair(), {**ENV, "NCCL_PROTO": "LL", "NCCL_DEBUG": "INFO"}, name=HEAD)
    assert dict(made.others) == {"NCCL_PROTO": "LL"}
    assert made.told()[-1] == "set here and not by the preset, kept: NCCL_PROTO=LL"
    assert made.environment["NCCL_PROTO"] == "LL"


def test_what_is_told_is_bounded_and_printable() -> None:
    many = preset(node("one", {f"NCCL_X{at}": "1" for at in range(40)}))
    dirty = {f"NCCL_X{at}": "\x1b[31m" + "z" * 10_000 for at in range(40)}
    lines = start(many, {**ENV, **dirty}, name="one").told()
    assert len(lines) < 20 and all(len(line) < 2000 and line.isprintable() for line in lines)
    assert "and 28 more replaced" in lines


def test_bytes_that_are_no_text_pass_unharmed() -> None:
    raw = b"\xff\xfe".decode("utf-8", "surrogateescape")
    made = start(pair(), {**ENV, "ODD": raw, "NCCL_ODD": raw}, name=HEAD)
    assert made.environment["ODD"] == raw
    assert "\n".join(made.told()).encode()


@pytest.mark.parametrize(
    ("one", "id"),
    [
        (preset(node("a", {"PATH": "/tmp"})), "value-refused"),
        (preset(node("a", {"BASH_ENV": "/tmp/x"})), "value-refused"),
        (preset(node("a", {"NCCL_NET": "I\0B"})), "value-refused"),
        (preset(node("a", {"NCCL NET": "IB"})), "variable-name"),
        (preset(node("a", {})).model_copy(update={"expires": "2001-01-01T00:00:00Z"}), "preset-expired"),
        (preset(node("a", {})).model_copy(update={"nodes": ()}), "preset-without-nodes"),
    ],
)
def test_what_export_refuses_is_not_started(one: Preset, id: str) -> None:
    with pytest.raises(UsageError) as caught:
        start(one)
    assert caught.value.id == id
    assert "--format" not in caught.value.fix


@pytest.mark.long
@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,12}", fullmatch=True), st.text(max_size=20), max_size=5))
def test_any_environment_keeps_all_that_the_preset_does_not_hold(environ: dict[str, str]) -> None:
    made = start(pair(), {**ENV, **environ}, name=HEAD)
    values = exported(pair(), HEAD)
    assert {name: made.environment[name] for name in values} == values
    assert {n: v for n, v in made.environment.items() if n not in values} == {
        n: v for n, v in {**ENV, **environ}.items() if n not in values
    }


def test_a_program_that_is_not_there_is_told_before_any_gate(tmp_path: Path) -> None:
    for words in ([], ["no-such-program"], [""], [str(tmp_path)]):
        with pytest.raises(UsageError) as caught:
            find_program(words, ENV)
        assert caught.value.id == "command-missing"
    own = tmp_path / "vllm"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert find_program(["vllm", "serve"], {"PATH": str(tmp_path)}) == str(own)
    assert find_program([str(own)], {}) == str(own)


TAKE = """
import os, sys
from fabricdoc.workflow.launching import Start, open_files, take_place
import resource
files = open_files()
resource.setrlimit(resource.RLIMIT_NOFILE, (files[0] - 1, files[1]))
path, *words = sys.argv[1:]
take_place(Start("p", "n", path, tuple(words), {"ONLY": "this"}, {}, {}, {}), files)
"""
SAYS = (
    "import json, os, resource, sys; ignored = [line.split()[1] for line in open('/proc/self/status')"
    " if line.startswith('SigIgn')]; print(json.dumps([dict(os.environ), sys.argv[1:], os.getpid(), ignored,"
    " resource.getrlimit(resource.RLIMIT_NOFILE), sorted(int(n) for n in os.listdir('/proc/self/fd'))]))"
)


def take(path: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", TAKE, path, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.long
def test_the_command_is_this_process_with_nothing_of_ours_left() -> None:
    before = open_files()
    code = f"import signal; [signal.signal(n, signal.SIG_DFL) for n in {[int(n) for n in IGNORED_BY_PYTHON]}];{SAYS}"
    process = take(sys.executable, "called-so", "-I", "-c", code, "a b", "$x", "")
    out, err = process.communicate(timeout=60)
    environ, words, pid, _ignored, files, open_now = json.loads(out or err)
    assert (words, pid, process.returncode) == (["a b", "$x", ""], process.pid, 0)
    environ.pop("LC_CTYPE", None)  # python's own
    assert environ == {"ONLY": "this"}
    assert tuple(files) == before
    assert open_now[:3] == [0, 1, 2] and len(open_now) == 4, "the fourth is the listing itself"


@pytest.mark.long
def test_signals_that_python_ignores_are_not_ignored_by_the_command() -> None:
    process = take("/bin/sh", "sh", "-c", "grep SigIgn /proc/$$/status")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    mask = int(out.split()[1], 16)
    assert not any(mask & 1 << (number - 1) for number in IGNORED_BY_PYTHON)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, None])
def test_its_status_is_the_commands_own(number: signal.Signals | None) -> None:
    script = f"kill -{int(number)} $$" if number else "exit 42"
    process = take("/bin/sh", "sh", "-c", script)
    process.communicate(timeout=60)
    assert process.returncode == (-int(number) if number else 42)


@pytest.mark.long
def test_what_the_kernel_refuses_is_one_error(tmp_path: Path) -> None:
    script = tmp_path / "no-first-line"
    script.write_text("echo never\n")
    script.chmod(0o755)
    process = take(str(script), "no-first-line")
    out, err = process.communicate(timeout=60)
    assert out == ""
    assert re.search(r"ToolError: no-first-line could not be started: it is no program this machine can run", err)


def test_the_limit_of_files_is_the_kernels() -> None:
    assert open_files() == resource.getrlimit(resource.RLIMIT_NOFILE)
    assert ToolError.status == 4


def test_a_file_edited_into_what_ranks_can_not_agree_on_starts_nothing(tmp_path: Path) -> None:
    values = ({"NCCL_BUFFSIZE": "1048576"}, {"NCCL_BUFFSIZE": "4194304"})
    apart = preset(*(node(name, one) for name, one in zip(("spark1", "spark2"), values, strict=True)))
    (tmp_path / "p.toml").write_text(preset_to_toml(apart))
    with pytest.raises(InputError, match="NCCL_BUFFSIZE must be equal on all ranks") as caught:
        preset_to_start(str(tmp_path / "p.toml"), None, lambda _: None)
    assert caught.value.id == "unsafe-preset"
    (tmp_path / "p.toml").write_text(preset_to_toml(pair()))
    assert preset_to_start(str(tmp_path / "p.toml"), None, lambda _: None) == pair()


def test_what_it_was_measured_with_and_lacks_here_is_told() -> None:
    preset = pair()
    nodes = tuple(one.model_copy(update={"inherited": {"NCCL_NVLS_ENABLE": "0"}}) for one in preset.nodes)
    preset = preset.model_copy(update={"nodes": nodes})
    made = start(preset, ENV, name=HEAD)
    assert dict(made.unlike) == {"NCCL_NVLS_ENABLE": "0"}
    assert made.told()[-1] == "measured with, and not so here: NCCL_NVLS_ENABLE=0"
    same = start(preset, {**ENV, "NCCL_NVLS_ENABLE": "0"}, name=HEAD)
    assert (dict(same.unlike), dict(same.others)) == ({}, {})
