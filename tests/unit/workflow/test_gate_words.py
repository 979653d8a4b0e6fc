"""Words of `fabricdoc gate`: what is asked, what is refused, and the file for a collector."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.errors import InputError, ToolError, UsageError
from fabricdoc.model.preset import Fingerprint, NodePreset, NodePrint, Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow import gate_words
from fabricdoc.workflow.checking import DEADLINES_S, Asked
from fabricdoc.workflow.gate_words import (
    GateWords,
    JobWords,
    LocalWords,
    read_env,
    read_gate,
    read_waivers,
    write_textfile,
)

pytestmark = pytest.mark.unit


def preset() -> Preset:
    words = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    nodes = tuple(NodePreset(name=name, target=name) for name in ("alpha", "beta"))
    facts = dict.fromkeys(("kernel", "torch", "nccl", "nvidia_driver"), "x")
    prints = tuple(NodePrint.model_validate({"name": n, "hostname": f"spark-{n}", **facts}) for n in ("alpha", "beta"))
    fields = {**words, "name": "pair", "profile": "tiny", "backend": "nccl", "nodes": nodes}
    return Preset.model_validate({**fields, "fingerprint": Fingerprint(nodes=prints)})


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "pair.toml"
    path.write_text(preset_to_toml(preset()))
    return str(path)


def read(words: GateWords, part: LocalWords | None = None, job: JobWords | None = None, *nodes: NodeSpec) -> Asked:
    return read_gate(words, part or LocalWords(), job or JobWords(), lambda: nodes)


def test_what_is_asked_by_default(file: str) -> None:
    asked = read(GateWords(preset=file))
    assert asked.preset is not None
    assert (asked.preset.name, asked.level, asked.drift, asked.local, asked.specs) == ("pair", "quick", "fail", "", ())
    assert asked.deadline_s == DEADLINES_S["quick"]


def test_every_word_arrives(file: str, tmp_path: Path) -> None:
    env = tmp_path / "job.env"
    env.write_text("NCCL_NET=IB\n")
    words = GateWords(
        preset=file, level="full", waive=["mtu=known  fault"], drift="report", deadline_s=3.5, python="py"
    )
    job = JobWords("large", ["alpha=7"], ["vllm"], [f"alpha={env}"], [8000], "vllm serve m", [])
    asked = read(words, None, job, NodeSpec("alpha", "local"))
    assert (asked.level, asked.drift, asked.deadline_s, asked.python) == ("full", "report", 3.5, "py")
    assert (asked.waived, asked.profile, asked.ports) == ({"mtu": "known fault"}, "large", (8000,))
    wheres = [(one.kind, dict(one.values)) for one in asked.wheres]
    assert wheres == [("pid", {"alpha": "7"}), ("container", {"": "vllm"})]
    assert asked.env == (("alpha", env),)
    assert asked.launch == ("vllm", "serve", "m")
    assert asked.specs == (NodeSpec("alpha", "local"),)


def test_a_command_behind_the_dashes_beats_launch(file: str) -> None:
    asked = read(GateWords(preset=file), None, JobWords(launch="a b", command=["vllm", "serve", "my model"]))
    assert asked.launch == ("vllm", "serve", "my model")


@pytest.mark.parametrize(
    ("words", "part", "job", "said"),
    [
        (GateWords(level="deep"), None, None, "--level"),
        (GateWords(drift="x"), None, None, "--drift"),
        (GateWords(waive=["mut=x"]), None, None, "no such check"),
        (GateWords(waive=["mtu"]), None, None, "gives no reason"),
        (GateWords(waive=["mtu= "]), None, None, "gives no reason"),
        (GateWords(waive=["mtu=a\x1b[31m"]), None, None, "gives no reason"),
        (GateWords(deadline_s=0.0), None, None, "--deadline"),
        (GateWords(deadline_s=float("nan")), None, None, "--deadline"),
        (GateWords(deadline_s=1e9), None, None, "--deadline"),
        (GateWords(), LocalWords(hardware=["carrier"]), None, "--hardware"),
        (GateWords(), LocalWords(local=True, hardware=["x"]), None, "no such check"),
        (GateWords(), LocalWords(node="alpha"), None, "--node"),
        (GateWords(), None, JobWords(launch="a 'b"), "--launch"),
        (GateWords(), None, JobWords(pid=["x"]), "--pid"),
    ],
)
def test_words_that_can_not_be_used(
    file: str, words: GateWords, part: LocalWords | None, job: JobWords | None, said: str
) -> None:
    from dataclasses import replace

    with pytest.raises(UsageError) as caught:
        read(replace(words, preset=file), part, job)
    assert said in f"{caught.value.message} {caught.value.fix}"


def test_the_wrong_word_is_told_before_a_preset_is_read() -> None:
    with pytest.raises(UsageError) as caught:
        read(GateWords(preset="absent.toml", level="deep"))
    assert "--level" in caught.value.message


def test_nodes_are_named_after_the_preset_was_read() -> None:
    def never() -> tuple[NodeSpec, ...]:
        raise AssertionError("nodes were named")

    with pytest.raises(UsageError) as caught:
        read_gate(GateWords(preset="absent.toml"), LocalWords(), JobWords(), never)
    assert "absent.toml" in caught.value.message


def test_without_a_preset_this_machine_or_the_nodes_named_are_judged(tmp_path: Path) -> None:
    empty = tmp_path / "none.sqlite"
    assert read(GateWords(preset="none")).specs == (NodeSpec("local", "local"),)
    named = read(GateWords(store=empty, named=True), None, None, NodeSpec("a", "a"))
    assert (named.preset, named.specs) == (None, (NodeSpec("a", "a"),))
    env = tmp_path / "job.env"
    env.write_text("")
    assert read(GateWords(store=empty), None, JobWords(env=[str(env)])).preset is None


def test_nothing_at_all_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(GateWords(store=tmp_path / "none.sqlite"))
    assert caught.value.fix.endswith("or judge without one: --preset none")


def test_the_node_of_this_machine(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_words, "this_hostname", lambda: "spark-beta")
    assert read(GateWords(preset=file), LocalWords(local=True)).local == "beta"
    assert read(GateWords(preset=file), LocalWords(local=True, node="alpha")).local == "alpha"
    hardware = read(GateWords(preset=file), LocalWords(local=True, hardware=["carrier,gate-mac-changed"])).hardware
    assert hardware == ("carrier", "mac")
    assert read(GateWords(preset="none"), LocalWords(local=True)).local == "local"
    monkeypatch.setattr(gate_words, "this_hostname", lambda: "elsewhere")
    with pytest.raises(UsageError):
        read(GateWords(preset=file), LocalWords(local=True, node="gamma"))
    nodes = (NodeSpec("a", "a"), NodeSpec("b", "b"))
    with pytest.raises(UsageError) as caught:
        read(GateWords(preset="none"), LocalWords(local=True), None, *nodes)
    assert "a, b" in caught.value.fix


def test_waivers_by_check_or_finding() -> None:
    assert read_waivers(["gpu-in-use=a = b", "mtu=x"]) == {"gpu-idle": "a = b", "mtu": "x"}
    assert len(read_waivers(["mtu=" + "x" * 999])["mtu"]) == 400


def test_files_of_variables_by_node(tmp_path: Path) -> None:
    plain, odd = tmp_path / "a.env", tmp_path / "alpha=b.env"
    plain.write_text("")
    odd.write_text("")
    found = read_env([str(plain), f"beta={plain}", str(odd)], ["alpha", "beta"])
    assert found == (("", plain), ("beta", plain), ("", odd))
    with pytest.raises(UsageError):
        read_env([f"gamma={plain}"], ["alpha"])
    with pytest.raises(InputError):
        read_env([str(tmp_path / "absent.env")], ["alpha"])


def test_a_textfile_is_whole_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "gate.prom"
    target.write_text("old")
    write_textfile(target, "new\n")
    assert target.read_text() == "new\n"
    assert target.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in tmp_path.iterdir()] == ["gate.prom"]
    with pytest.raises(ToolError) as caught:
        write_textfile(tmp_path / "none" / "gate.prom", "new\n")
    assert "--textfile" in caught.value.message
    assert [one.name for one in tmp_path.iterdir()] == ["gate.prom"]


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--textfile /dev/stdout`, as root in a container, must not cost the device or the link to it.

    Tried on a pipe and on links to it: a fault here must not cost this machine its devices.
    """
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("other")
    (tmp_path / "other").symlink_to("pipe")
    for name in ("pipe", "folder", "link", "", "."):
        before = os.lstat(name or ".")
        with pytest.raises(UsageError, match="is no file"):
            write_textfile(Path(name), "new\n")
        assert os.lstat(name or ".").st_ino == before.st_ino
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "link", "other", "pipe"]


def test_what_somebody_left_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("kept")
    (tmp_path / f".gate.prom.{os.getpid()}").symlink_to("theirs")
    write_textfile(tmp_path / "gate.prom", "new\n")
    assert (tmp_path / "theirs").read_text() == "kept"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["gate.prom", "theirs"]
    assert not (tmp_path / "gate.prom").is_symlink()


def test_a_link_to_a_file_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "gate.prom").symlink_to("real/gate.prom")
    for text in ("old\n", "new\n"):
        write_textfile(tmp_path / "gate.prom", text)
        assert (tmp_path / "gate.prom").is_symlink()
        assert (tmp_path / "real" / "gate.prom").read_text() == text
    assert [one.name for one in (tmp_path / "real").iterdir()] == ["gate.prom"]


def test_any_other_error_of_a_named_preset_stays_what_it_is(tmp_path: Path) -> None:
    broken: Any = tmp_path / "p.toml"
    broken.write_text("x = [")
    with pytest.raises(InputError) as caught:
        read(GateWords(preset=str(broken), named=True), None, None, NodeSpec("a", "a"))
    assert "--preset none" not in caught.value.fix
