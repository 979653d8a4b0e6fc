"""env, docker-env, docker and compose: read by the real docker client, and what each may hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import format_named, render
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, HARDER, HEAD, alone

pytestmark = pytest.mark.unit
DOCKER = pytest.mark.skipif(shutil.which("docker") is None, reason="no docker client on this machine")


def written(fmt: str, values: dict[str, str], evidence: str = "two\nlines \\") -> str:
    one = alone(values, evidence)
    return render(one, one.nodes[0], fmt)


@DOCKER
@pytest.mark.parametrize("fmt", ["env", "docker-env"])
def test_the_docker_client_reads_the_env_files_back(fmt: str, tmp_path: Path) -> None:
    values = {name: value for name, value in HARDER.items() if not format_named(fmt).refuse(name, value)}
    (tmp_path / "nccl.env").write_text(written(fmt, values))
    with readers.engine(tmp_path) as host:
        assert readers.docker_client(tmp_path, host, "--env-file", "nccl.env") == values
    assert ("NCCL_ALGO" in values) == (fmt == "docker-env")


@DOCKER
def test_the_docker_client_reads_the_flags_back(tmp_path: Path) -> None:
    with readers.engine(tmp_path) as host:
        assert readers.docker_client(tmp_path, host, line=written("docker", HARDER).rstrip()) == HARDER


@DOCKER
def test_a_nodes_file_beside_the_common_one_changes_nothing(tmp_path: Path) -> None:
    """Both at once, in either order: the same values."""
    (tmp_path / "a.env").write_text(written("env", HEAD))
    (tmp_path / "common.env").write_text(written("env", {"NCCL_NET": "IB"}))
    with readers.engine(tmp_path) as host:
        for order in (("a.env", "common.env"), ("common.env", "a.env")):
            words = [word for name in order for word in ("--env-file", name)]
            assert readers.docker_client(tmp_path, host, *words) == HEAD


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "dash", "ksh") if shutil.which(shell)])
def test_env_means_the_same_to_docker_and_to_a_shell(shell: str, tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text(text := written("env", HEAD))
    sourced = readers.shell_reads(shell, "set -a; . ./nccl.env", tmp_path)
    assert sourced == readers.docker_reads(text) == readers.dotenv_reads(text) == HEAD


def test_env_refuses_what_a_shell_splits_and_docker_does_not() -> None:
    with pytest.raises(UsageError, match="`;`") as caught:
        written("env", {"NCCL_ALGO": ALGO})
    assert "docker-env" in caught.value.fix
    with pytest.raises(UsageError, match=r"`\^`"):
        written("env", {"NCCL_SOCKET_IFNAME": "^docker0"})


def test_env_refuses_a_name_compose_would_cut() -> None:
    with pytest.raises(UsageError, match="export"):
        written("env", {"exported_A": "1"})


@pytest.mark.parametrize("value", ["'x'", '"x"', "x'", '"x', "`x`", " x", "x "])
def test_docker_env_refuses_quotes_and_blanks_at_the_ends(value: str) -> None:
    assert format_named("docker-env").refuse("NCCL_X", value)
    assert not format_named("docker-env").refuse("NCCL_X", f"a{value}a")


def test_compose_gives_text_and_no_variable_of_its_own() -> None:
    text = written("compose", {"NCCL_IB_TC": "106", "A1": "$HOME and $$", "A2": "yes"})
    assert readers.yaml_reads(text) == {"environment": {"NCCL_IB_TC": "106", "A1": "$$HOME and $$$$", "A2": "yes"}}
    assert readers.yaml_reads(written("compose", {})) == {"environment": {}}


def test_the_evidence_stands_above_its_line() -> None:
    lines = written("env", HEAD, "heard 8 frames").splitlines()
    assert lines[lines.index("NCCL_NET=IB") - 1] == "# placed: heard 8 frames"
