"""What can be said of the examples without starting anything: they parse, they are clean, and their keys exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fabricdoc.cli.app import build_app
from fabricdoc.export import FORMATS, format_named, render
from tests.unit.export.presets_made import pair

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SCRIPTS = sorted([*EXAMPLES.rglob("*.sh"), *EXAMPLES.rglob("*.sbatch")])
UNITS = sorted(EXAMPLES.rglob("*.service"))
SERVER = EXAMPLES / "kubernetes" / "leaderworkerset.yaml"
WORDS = re.compile(r"fabricdoc\s+(gate|run|export-env|verify-env|bench)\b((?:\\\n|[^\n|<>])*)")


def ids(path: Path) -> str:
    return str(path.relative_to(EXAMPLES))


@cache
def options_of(command: str) -> set[str]:
    """Every option that command has."""
    import typer.main

    one = typer.main.get_command(build_app()).commands[command]  # type: ignore[attr-defined]
    return {name for option in one.params for name in (*option.opts, *option.secondary_opts)}


def uses() -> Iterator[tuple[Path, str, str]]:
    """(file, command, the words behind it up to the end of the line or `--`), of every file and comment."""
    for path in sorted(path for path in EXAMPLES.rglob("*") if path.is_file()):
        for match in WORDS.finditer(path.read_text()):
            yield path, match[1], match[2].replace("\\\n", " ").split(" -- ")[0]


@pytest.mark.parametrize("path", SCRIPTS, ids=ids)
def test_a_script_parses_can_be_run_and_stops_at_the_first_failure(path: Path) -> None:
    text = path.read_text()
    shell = "bash" if "bash" in text.splitlines()[0] else "sh"
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_mode & 0o111, "not executable"
    assert path.name == "prolog.sh" or re.search(r"^set -e", text, re.MULTILINE)


SHELLCHECK = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
"""This environment's own, else the system's."""


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("path", SCRIPTS, ids=ids)
def test_shellcheck_has_nothing_to_say(path: Path) -> None:
    assert SHELLCHECK is not None
    done = subprocess.run(
        [SHELLCHECK, "-x", path.name], cwd=path.parent, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SCRIPTS, ids=ids)
def test_posix_scripts_hold_no_bashisms_that_dash_refuses(path: Path) -> None:
    dash = shutil.which("dash")
    if "bash" in path.read_text().splitlines()[0] or dash is None:
        return
    done = subprocess.run([dash, "-n", str(path)], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_every_option_that_an_example_uses_exists() -> None:
    found = list(uses())
    assert {command for _, command, _ in found} >= {"gate", "run", "export-env"}
    wrong = [
        (ids(path), command, word)
        for path, command, words in found
        for word in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", words)
        if word not in options_of(command)
    ]
    assert wrong == []


def test_every_format_that_an_example_names_exists() -> None:
    named = [word for _, _, words in uses() for word in re.findall(r"--format (\S+)", words)]
    assert named and set(named) <= set(FORMATS)


def test_files_are_named_as_export_env_names_them() -> None:
    for path, format_, node in (
        ("two-sparks/start.sh", "docker-env", "$HEAD"),
        ("two-sparks/start.sh", "docker-env", "$WORKER"),
        ("systemd/vllm.service", "systemd", "%H"),
        ("compose/compose.yaml", "env", "${NODE:?the name of this node in the preset}"),
    ):
        assert f"/{node}{format_named(format_).file}" in (EXAMPLES / path).read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """The real verifier; only the two programs, which are not here, stand elsewhere."""
    for unit in UNITS:
        text = re.sub(r"/usr/local/bin/\w+", "/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(text)
    paths = [str(tmp_path / unit.name) for unit in UNITS]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *paths], capture_output=True, text=True, timeout=60, check=False
    )
    ours = [line for line in done.stderr.splitlines() if any(unit.name in line for unit in UNITS)]
    assert ours == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_verifier_sees_a_fault(tmp_path: Path) -> None:
    """The test before could pass for a verifier that says nothing: a wrong line must be seen."""
    text = UNITS[0].read_text().replace("Type=oneshot", "Type=oneshoot")
    (tmp_path / UNITS[0].name).write_text(re.sub(r"/usr/local/bin/\w+", "/bin/true", text))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / UNITS[0].name)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert UNITS[0].name in done.stderr


def test_the_server_needs_the_gate_and_may_lock_memory() -> None:
    unit = (EXAMPLES / "systemd" / "vllm.service").read_text()
    gate = (EXAMPLES / "systemd" / "fabricdoc-gate.service").read_text()
    assert "Requires=fabricdoc-gate.service" in unit and "After=fabricdoc-gate.service" in unit
    assert "LimitMEMLOCK=infinity" in unit
    assert "Type=oneshot" in gate and "RemainAfterExit" not in gate, "every start asks again"


def lws() -> dict[str, Any]:
    document = yaml.safe_load(SERVER.read_text())
    assert isinstance(document, dict)
    return document


def pods() -> list[dict[str, Any]]:
    """The pod specs of leader and worker."""
    template = lws()["spec"]["leaderWorkerTemplate"]
    return [template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"]]


def test_both_templates_gate_first_and_share_what_rdma_needs() -> None:
    for pod in pods():
        (gate,), (server,) = pod["initContainers"], pod["containers"]
        assert gate["args"][:2] == ["gate", "--local"]
        assert pod["hostNetwork"] is True and pod["dnsPolicy"] == "ClusterFirstWithHostNet"
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in (gate, server):
            assert "IPC_LOCK" in container["securityContext"]["capabilities"]["add"]
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert all(isinstance(amount, str) for amount in container["resources"]["limits"].values())
        assert any(volume.get("emptyDir", {}).get("medium") == "Memory" for volume in pod["volumes"])


def test_the_configmaps_are_those_that_export_env_writes() -> None:
    written = [one["metadata"]["name"] for one in yaml.safe_load_all(render(pair(), None, "k8s-configmap"))]
    named = [pod["containers"][0]["envFrom"][0]["configMapRef"]["name"] for pod in pods()]
    assert named == written


def test_only_the_worker_is_headless_and_ranks_differ() -> None:
    leader, worker = (" ".join(pod["containers"][0]["args"]) for pod in pods())
    assert "--node-rank=0" in leader and "--headless" not in leader
    assert "--node-rank=$(LWS_WORKER_INDEX)" in worker and "--headless" in worker


def test_compose_gives_a_container_what_rdma_needs_and_its_own_file() -> None:
    (service,) = yaml.safe_load((EXAMPLES / "compose" / "compose.yaml").read_text())["services"].values()
    assert service["network_mode"] == "host" and service["ipc"] == "host"
    assert service["devices"] == ["/dev/infiniband:/dev/infiniband"]
    assert service["cap_add"] == ["IPC_LOCK"] and service["ulimits"] == {"memlock": -1}
    assert service["env_file"] == [{"path": "env/${NODE:?the name of this node in the preset}.env", "required": True}]
    assert "environment" not in service, "compose's environment would beat the node's file"
    assert service["restart"] == "no", "a restart by docker would start without the gate"


def test_all_examples_are_told_of_in_the_docs() -> None:
    page = (EXAMPLES.parent / "docs" / "launchers.md").read_text()
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert {name for name in folders if f"examples/{name}" not in page} == set()
