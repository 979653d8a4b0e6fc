"""Nothing that is written changes its meaning: each format read back by its reader, whatever the values hold."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.export import FORMATS, render
from fabricdoc.export.formats import check_value, format_named
from tests.unit.export import readers
from tests.unit.export.presets_made import HARDER, HEAD, VALUES, WORKER, alone, node, pair, preset

pytestmark = pytest.mark.unit

Reader = Callable[[str, Path], dict[str, str]]
NAMES = ("NCCL_A", "NCCL_B", "NCCL_C")


def words_after(flag: str, text: str, folder: Path, shell: str) -> dict[str, str]:
    words = readers.shell_words(shell, text.strip(), folder) if text.strip() else []
    assert words[::2] == [flag] * (len(words) // 2)
    return dict(word.split("=", 1) for word in words[1::2])


def sourced(shell: str, before: str = "") -> Reader:
    def read(text: str, folder: Path) -> dict[str, str]:
        (folder / "x.sh").write_text(text)
        return readers.shell_reads(shell, f"{before}. ./x.sh", folder)

    return read


def prolog(text: str, folder: Path) -> dict[str, str]:
    (folder / "x.sh").write_text(text)
    (folder / "out").write_text("")
    readers.shell_reads("dash", "SLURMD_NODENAME=alpha /bin/sh ./x.sh > out", folder)
    return readers.slurm_reads((folder / "out").read_text())


def wrapper(text: str, folder: Path) -> dict[str, str]:
    """Started as mpirun does, on a host that calls itself alpha."""
    bins = readers.program(folder / "bin", "serve")
    (bins / "uname").write_text("#!/bin/sh\necho alpha.example.org\n")
    (bins / "uname").chmod(0o755)
    (folder / "x.sh").write_text(text)
    argv, seen = readers.run_script(folder / "x.sh", "serve", "two words", bins=bins)
    assert argv[1:] == ["two words"]
    return {name: value for name, value in seen.items() if name in NAMES or name in HARDER}


def launched(program: str) -> Reader:
    def read(text: str, folder: Path) -> dict[str, str]:
        bins = readers.program(folder / "bin", program)
        (folder / "x.sh").write_text(text)
        argv, seen = readers.run_script(folder / "x.sh", "two words", bins=bins)
        assert "two words" in argv
        return {name: value for name, value in seen.items() if name in NAMES or name in HARDER}

    return read


def on_host(text: str, folder: Path) -> dict[str, str]:
    """TensorRT-LLM's script as it runs on a host, which calls itself alpha."""
    bins = readers.program(folder / "bin", "serve")
    (bins / "uname").write_text("#!/bin/sh\necho alpha\n")
    (bins / "uname").chmod(0o755)
    (folder / "x.sh").write_text(text)
    _, seen = readers.run_script(folder / "x.sh", "--on-host", "serve", bins=bins)
    return {name: value for name, value in seen.items() if name in NAMES or name in HARDER}


def k8s_list(text: str, _: Path) -> dict[str, str]:
    (key, entries), *rest = readers.yaml_reads(text).items()
    assert (key, rest) == ("env", [])
    assert all(isinstance(one["value"], str) for one in entries)
    return {one["name"]: readers.kubernetes_expands(one["value"]) for one in entries}


def compose(text: str, _: Path) -> dict[str, str]:
    return {name: readers.interpolated(value) for name, value in readers.yaml_reads(text)["environment"].items()}


def containers(text: str, folder: Path) -> dict[str, str]:
    """As launch-cluster.sh reads it: head and worker must get the same."""
    here, there = readers.cluster_reads(text, folder)
    assert here == there
    return here


READERS: dict[str, dict[str, Reader]] = {
    "env": {
        "docker": lambda text, _: readers.docker_reads(text),
        "docker that strips quotes": lambda text, _: readers.docker_reads(text, strips_quotes=True),
        "dotenv": lambda text, _: readers.dotenv_reads(text),
        "systemd": readers.systemd_reads,
        "dash": sourced("dash", "set -a; "),
        "bash": sourced("bash", "set -a; "),
    },
    "docker-env": {
        "docker": lambda text, _: readers.docker_reads(text),
        "docker that strips quotes": lambda text, _: readers.docker_reads(text, strips_quotes=True),
    },
    "docker": {shell: lambda t, f, shell=shell: words_after("-e", t, f, shell) for shell in readers.SHELLS},
    "bash": {shell: sourced(shell) for shell in readers.SHELLS},
    "fish": {"fish": readers.fish_reads} if shutil.which("fish") else {},
    "nccl-conf": {"NCCL": lambda text, _: readers.nccl_reads(text)},
    "systemd": {"systemd": readers.systemd_reads} if readers.SYSTEMD else {},
    "compose": {"yaml and interpolation": compose},
    "k8s": {"yaml and expansion": k8s_list},
    "k8s-configmap": {"yaml": lambda text, _: list(readers.yaml.safe_load_all(text))[-1]["data"]},
    "slurm": {"bash": sourced("bash")},
    "slurm-prolog": {"sh and slurmd": prolog},
    "mpirun": {"bash": lambda text, folder: words_after("-x", text, folder, "bash")},
    "mpirun-wrapper": {"sh": wrapper},
    "ray": {"json": lambda text, _: json.loads(text)["env_vars"]},
    "ray-start": {"sh": launched("ray")},
    "json": {"json": lambda text, _: json.loads(text)["variables"]},
    "eugr": {"launch-cluster.sh": containers},
    "sparkrun": {"yaml": lambda text, _: readers.yaml_reads(text)["env"]},
    "vllm": {"sh": launched("vllm")},
    "sglang": {"sh": launched("python3")},
    "trtllm": {"sh": on_host},
}
WITHOUT_VALUES = {"miaai"}
"""It holds no list of variables; `writers/test_recipes.py` reads it."""
if not readers.SYSTEMD:
    del READERS["env"]["systemd"]
CASES = [(fmt, reader) for fmt, found in READERS.items() for reader in found]


def accepted(fmt: str, values: dict[str, str]) -> dict[str, str]:
    wanted = format_named(fmt)
    return {name: value for name, value in values.items() if not wanted.refuse(name, value)}


def read_back(fmt: str, reader: str, values: dict[str, str]) -> dict[str, str]:
    one = alone(values)
    text = render(one, one.nodes[0], fmt)
    with tempfile.TemporaryDirectory() as folder:
        return READERS[fmt][reader](text, Path(folder))


def test_every_format_has_a_reader_here() -> None:
    assert set(READERS) | WITHOUT_VALUES == set(FORMATS)


@pytest.mark.long
@pytest.mark.parametrize(("fmt", "reader"), CASES)
def test_the_hard_values_a_format_takes_come_back(fmt: str, reader: str) -> None:
    values = accepted(fmt, HARDER)
    assert values["NCCL_IB_HCA"] == "=rocep1s0f1,roceP2p1s0f1"
    assert readers.only(read_back(fmt, reader, values), values) == values


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize(("fmt", "reader"), CASES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=VALUES, second=VALUES, third=VALUES)
def test_what_is_written_reads_back_equal_or_is_refused(
    fmt: str, reader: str, first: str, second: str, third: str
) -> None:
    values = accepted(fmt, dict(zip(NAMES, (first, second, third), strict=True)))
    assert read_back(fmt, reader, values) == values


@pytest.mark.parametrize("fmt", sorted(set(FORMATS) - {"miaai"}))
@given(value=VALUES)
def test_a_refused_value_writes_nothing_and_names_who_can(fmt: str, value: str) -> None:
    one = alone({"NCCL_X": value})
    if not format_named(fmt).refuse("NCCL_X", value):
        assert render(one, one.nodes[0], fmt).endswith("\n")
        return
    with pytest.raises(UsageError) as caught:
        render(one, one.nodes[0], fmt)
    assert caught.value.message.isprintable()
    for able in FORMATS:
        named = able in caught.value.fix.partition("--format ")[2].split(", ")
        assert named == (not format_named(able).refuse("NCCL_X", value))


@given(st.text(max_size=60), st.sampled_from(sorted(set(FORMATS) - {"json", "ray", "docker", "mpirun"})))
def test_evidence_and_titles_never_become_more_than_comment(evidence: str, fmt: str) -> None:
    """The text with hostile evidence, without its comment lines, is the text with harmless evidence."""
    evil, tame = (
        pair().model_copy(update={"name": title, "nodes": (node("spark1", HEAD, evidence=e), node("spark2", WORKER))})
        for e, title in ((evidence, evidence), ("x", "pair"))
    )

    def bare(text: str) -> list[str]:
        assert text.splitlines() == text.removesuffix("\n").split("\n")
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]

    first, second = (render(one, one.nodes[0], fmt) for one in (evil, tame))
    assert bare(first) == bare(second)


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("name", ["", "1A", "A B", "A-B", "A=B", "A\n", "É", "export A", "A" * 257])
def test_what_is_no_name_is_refused_everywhere(fmt: str, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a variable"):
        check_value(format_named(fmt), name, "1")


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_variable_given_twice_is_refused(fmt: str) -> None:
    first = node("spark1", {"NCCL_NET": "IB"})
    twice = first.model_copy(update={"lines": first.lines * 2})
    with pytest.raises(UsageError, match="twice"):
        render(preset(twice), twice, fmt)


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_preset_without_nodes_is_usage(fmt: str) -> None:
    with pytest.raises(UsageError):
        render(preset(), None, fmt)
