"""bash and fish: what they hold, and what they refuse; reading back is in test_round_trip."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import render
from tests.unit.export import readers
from tests.unit.export.presets_made import HARDER, alone

pytestmark = pytest.mark.unit


def written(fmt: str, values: dict[str, str]) -> str:
    one = alone(values)
    return render(one, one.nodes[0], fmt)


@pytest.mark.parametrize("shell", readers.SHELLS)
def test_every_posix_shell_and_zsh_reads_the_hard_ones(shell: str, tmp_path: Path) -> None:
    (tmp_path / "nccl.sh").write_text(written("bash", HARDER))
    assert readers.shell_reads(shell, ". ./nccl.sh", tmp_path) == HARDER


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish on this machine")
def test_fish_reads_lists_of_paths_as_one_value(tmp_path: Path) -> None:
    values = {"LD_LIBRARY_PATH": "/a:/b c:", "NCCL_X": "\\'\\\\", "NCCL_EMPTY": ""}
    assert readers.fish_reads(written("fish", values), tmp_path) == values


@pytest.mark.parametrize("fmt", ["bash", "fish", "slurm", "mpirun-wrapper", "vllm"])
@pytest.mark.parametrize("name", ["PATH", "UID", "BASH_ENV", "ENV", "IFS", "status"])
def test_a_preset_can_not_take_over_the_shell(fmt: str, name: str) -> None:
    with pytest.raises(UsageError, match="shell's own"):
        written(fmt, {name: "1"})


def test_nothing_to_set_is_said() -> None:
    assert "nothing to set" in written("bash", {})
    assert "nothing to set" in written("fish", {})
