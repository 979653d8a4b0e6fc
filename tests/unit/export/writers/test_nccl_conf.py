"""NCCL's own file: read by its rules, and by the probe that reads it on nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import left_out, render
from fabricdoc.export.writers.nccl_conf import LONGEST_LINE
from probes.nccl_conf import values
from tests.unit.export import readers
from tests.unit.export.presets_made import ALGO, HEAD, alone

pytestmark = pytest.mark.unit


def written(lines: dict[str, str], evidence: str = "seen") -> str:
    one = alone(lines, evidence)
    return render(one, one.nodes[0], "nccl-conf")


def test_it_reads_back_by_both_readers() -> None:
    lines = {**HEAD, "NCCL_ALGO": ALGO, "NCCL_X": " a 'b' # c "}
    assert readers.nccl_reads(written(lines)) == lines
    assert values(written(lines)) == lines


@pytest.mark.skipif(not readers.LIBNCCL, reason="no NCCL library on this machine")
def test_nccl_itself_reads_it_back(tmp_path: Path) -> None:
    lines = {**HEAD, "NCCL_ALGO": ALGO, "NCCL_TOPO_FILE": " a 'b' \"c\" $x `y` \\ # d ; e = f ^ "}
    assert readers.nccl_itself(written(lines, "NCCL_A=b\nNCCL_C=d # e"), tmp_path) == lines


def test_what_nccl_does_not_read_is_left_out_and_said() -> None:
    lines = {"NCCL_NET": "IB", "GLOO_SOCKET_IFNAME": "p0", "UCX_NET_DEVICES": "m:1"}
    assert readers.nccl_reads(written(lines)) == {"NCCL_NET": "IB"}
    assert "GLOO_SOCKET_IFNAME, UCX_NET_DEVICES" in written(lines)
    one = alone(lines)
    assert "GLOO_SOCKET_IFNAME, UCX_NET_DEVICES" in left_out(one, one.nodes[0], "nccl-conf")


def test_a_line_nccl_would_cut_is_refused() -> None:
    name = "NCCL_X"
    assert written({name: "x" * (LONGEST_LINE - len(name) - 1)})
    with pytest.raises(UsageError, match="cuts"):
        written({name: "x" * (LONGEST_LINE - len(name))})


def test_the_file_can_not_name_another_file() -> None:
    with pytest.raises(UsageError):
        written({"NCCL_CONF_FILE": "/tmp/x"})


def test_comments_set_no_variable_in_an_old_nccl() -> None:
    """2.26.1 and before take `#A=b` for a variable; a long comment would also be cut into lines."""
    text = written(HEAD, "a=b " * 600)
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments
    assert not [line for line in comments if "=" in line or len(line) > 125]
    assert readers.nccl_reads(text) == HEAD
