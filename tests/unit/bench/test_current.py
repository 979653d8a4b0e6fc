"""The user's current settings, read from his env file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.bench.current import read_current
from fabricdoc.errors import InputError

pytestmark = pytest.mark.unit


def test_only_communication_variables_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text("# ours\nexport NCCL_IB_HCA==mlx5_0\nHF_TOKEN=secret\nGLOO_SOCKET_IFNAME=eth0\n\nnonsense\n")
    current = read_current(file)
    assert current.variables == {"NCCL_IB_HCA": "=mlx5_0", "GLOO_SOCKET_IFNAME": "eth0"}
    assert (current.role, current.on_base) == ("current", False)
    assert "serve.env" in current.why


@pytest.mark.parametrize("content", [b"", b"# only words\n", b"HF_TOKEN=x\n", b"\xff\xfe\x00"])
def test_a_file_without_any_is_an_input_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_current(file)
    assert "x.env" in caught.value.message
    assert caught.value.fix


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_current(tmp_path / "absent.env")
