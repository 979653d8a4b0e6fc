"""EnvironmentFile=: read by systemd's own parser, and by the service manager's rules for comments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fabricdoc.export import render
from fabricdoc.export.writers.systemd import quoted
from tests.unit.export import readers
from tests.unit.export.presets_made import HARDER, alone

pytestmark = pytest.mark.unit
REAL = pytest.mark.skipif(not readers.SYSTEMD, reason="no systemd library on this machine")
GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")


def written(fmt: str, values: dict[str, str], evidence: str = "seen") -> str:
    one = alone(values, evidence)
    return render(one, one.nodes[0], fmt)


@REAL
@pytest.mark.parametrize("evidence", ["continued \\", "a\\\\", "; x=1", "a\nB=2"])
def test_systemds_parser_reads_it_back(evidence: str, tmp_path: Path) -> None:
    assert readers.systemd_reads(written("systemd", HARDER, evidence), tmp_path) == HARDER


@REAL
def test_a_percent_sign_means_nothing_in_such_a_file(tmp_path: Path) -> None:
    assert readers.systemd_reads(written("systemd", {"A1": "%h 100%%"}), tmp_path) == {"A1": "%h 100%%"}


@pytest.mark.parametrize(
    ("value", "text"),
    [("=a,b", "=a,b"), ("a;b", '"a;b"'), ('"', '"\\""'), ("\\", '"\\\\"'), ("$x`", '"\\$x\\`"'), ("", "")],
)
def test_quotes_only_where_they_are_needed(value: str, text: str) -> None:
    assert quoted(value) == text


@pytest.mark.skipif(not GENERATOR.exists(), reason="no systemd environment generator on this machine")
def test_the_env_format_reads_back_in_environment_d(tmp_path: Path) -> None:
    """A program of systemd's that also expands `$`; an empty value is refused there alone."""
    values = {"NCCL_NET": "IB", "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0"}
    (tmp_path / "environment.d").mkdir()
    (tmp_path / "environment.d" / "nccl.conf").write_text(written("env", values, evidence="continued \\"))
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": "/nonexistent"}
    result = subprocess.run([GENERATOR], env=environment, capture_output=True, text=True, timeout=20, check=True)
    assert result.stderr == ""
    assert readers.only(readers.shell_reads("dash", f"set -a\n{result.stdout}", tmp_path), values) == values
