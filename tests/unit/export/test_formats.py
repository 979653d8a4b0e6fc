"""The table of formats: all there, told, and every refusal names the formats that can carry the value."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import FORMATS, format_list, format_named, writers
from fabricdoc.export.formats import FAMILIES, MODULES, carriers, check_value
from tests.unit.export.presets_made import ALGO

pytestmark = pytest.mark.unit

ASKED_FOR = [
    "env",
    "docker-env",
    "docker",
    "bash",
    "fish",
    "nccl-conf",
    "systemd",
    "compose",
    "k8s",
    "slurm",
    "mpirun",
    "ray",
    "json",
]
RECIPES = ["miaai", "eugr", "sparkrun", "vllm", "sglang", "trtllm"]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "export.md"


def test_what_was_asked_for_is_there() -> None:
    assert set(FORMATS) >= {*ASKED_FOR, *RECIPES}


def test_every_module_of_writers_is_a_format() -> None:
    there = {path.stem for path in Path(writers.__path__[0]).glob("*.py")} - {"__init__"}
    assert set(MODULES.values()) == there


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_format_knows_itself(fmt: str) -> None:
    found = format_named(fmt)
    assert found.name == fmt
    assert found.readers
    assert found.file
    assert (found.scope == "node") == found.file.startswith(".")
    assert [readers for name, _, readers in format_list() if name == fmt] == [", ".join(found.readers)]


def test_families_begin_with_themselves() -> None:
    assert all(name in FORMATS for family in FAMILIES.values() for name in family)
    assert all(family[0] == name for name, family in FAMILIES.items())


def test_files_in_a_folder_never_share_a_name() -> None:
    for family in FAMILIES.values():
        names = [format_named(name).file for name in family]
        assert len(set(names)) == len(names)


def test_an_unknown_format_names_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        format_named("yaml")
    assert "env, docker-env, docker, bash" in caught.value.fix


@pytest.mark.parametrize("value", [ALGO, "^docker0", "^=docker0,lo"])
def test_what_a_shell_and_docker_read_differently_is_refused_naming_who_can(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_value(format_named("env"), "NCCL_ALGO", value)
    assert caught.value.id == "value-refused"
    able = carriers("NCCL_ALGO", value)
    assert caught.value.fix == f"these can carry it: --format {', '.join(able)}"
    assert {"docker-env", "docker", "bash", "fish", "nccl-conf", "systemd", "compose", "k8s", "json"} <= set(able)
    assert "env" not in able


def test_a_value_nobody_can_carry() -> None:
    with pytest.raises(UsageError) as caught:
        check_value(format_named("json"), "NCCL_X", "a\0b")
    assert caught.value.fix == "take the variable out of the preset"


@pytest.mark.parametrize("fmt", FORMATS)
def test_the_page_tells_of_every_format(fmt: str) -> None:
    assert f"`{fmt}`" in PAGE.read_text(encoding="utf-8")
