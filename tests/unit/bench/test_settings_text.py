"""KEY=value lines as files of servers have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.settings_text import is_communication, read_settings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("NCCL_IB_HCA==mlx5_0,mlx5_1", {"NCCL_IB_HCA": "=mlx5_0,mlx5_1"}),
        ("export NCCL_PROTO=LL", {"NCCL_PROTO": "LL"}),
        ("  export   NCCL_PROTO=LL", {"NCCL_PROTO": "LL"}),
        ('NCCL_ALGO="ring;allreduce:tree"', {"NCCL_ALGO": "ring;allreduce:tree"}),
        ("NCCL_ALGO='ring;allreduce:tree'", {"NCCL_ALGO": "ring;allreduce:tree"}),
        ("NCCL_PROTO='LL", {"NCCL_PROTO": "'LL"}),
        ("NCCL_PROTO=LL\r", {"NCCL_PROTO": "LL"}),
        ("NCCL_PROTO=", {"NCCL_PROTO": ""}),
        ("#NCCL_PROTO=LL", {}),
        ("NCCL_PROTO", {}),
        ("set NCCL_PROTO=LL", {}),
        ("HF_TOKEN=NCCL_PROTO=LL", {}),
        ("OMP_NUM_THREADS=4", {"OMP_NUM_THREADS": "4"}),
        ("UCX_NET_DEVICES=mlx5_0:1", {"UCX_NET_DEVICES": "mlx5_0:1"}),
    ],
)
def test_a_line(line: str, values: dict[str, str]) -> None:
    assert read_settings(line).values == values


def test_a_later_line_wins_and_quotes_are_told() -> None:
    settings = read_settings('NCCL_PROTO="LL"\nNCCL_ALGO="ring"\nNCCL_PROTO=Simple\n')
    assert settings.values == {"NCCL_PROTO": "Simple", "NCCL_ALGO": "ring"}
    assert settings.quoted == ("NCCL_ALGO",)


@pytest.mark.parametrize("name", ["HF_TOKEN", "API_KEY", "PATH", "OMP_STACKSIZE", "AWS_SECRET", ""])
def test_what_is_no_communication_variable_is_not_taken(name: str) -> None:
    assert not is_communication(name)


@given(st.text(max_size=300))
def test_any_text_gives_communication_variables_only(text: str) -> None:
    settings = read_settings(text)
    assert all(is_communication(name) for name in settings.values)
    assert set(settings.quoted) <= set(settings.values)
