"""How a file is read: by its name, then by its lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.lint_formats import detect_format
from fabricdoc.nccl.lint_settings import FORMATS, Format

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nccl.env", "docker"),
        ("spark1.env", "docker"),
        ("env", "docker"),
        (".env.prod", "docker"),
        (".deepspeed_env", "docker"),
        ("set_env.sh", "shell"),
        ("env.sh", "shell"),
        ("nccl.env.sh", "shell"),
        ("env.yaml", "yaml"),
        ("env.json", "json"),
        ("C:\\x\\nccl.env", "docker"),
        ("nccl.conf.bak", "nccl.conf"),
        ("run.pbs", "shell"),
        ("Dockerfile", "shell"),
        ("Dockerfile.gpu", "shell"),
        ("server.Containerfile", "shell"),
    ],
)
def test_names(name: str, expected: Format) -> None:
    """`*.env` is for docker whatever stands in it; a script that is called after it is a script."""
    assert detect_format(name, "export A_B='1' # c\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("docker run -e NCCL_NET=IB x\n", "command"),
        ("NCCL_NET=IB vllm serve x\n", "command"),
        ("ssh node2 NCCL_NET=IB x\n", "command"),
        ("- name: NCCL_NET\n  value: IB\n", "yaml"),
        ("apiVersion: v1\nspec:\n  containers:\n", "yaml"),
        ("NCCL_NET=IB\n\n# c\nNCCL_DEBUG=WARN\n", "docker"),
        ("NCCL_NET=IB\nexport A=1\n", "shell"),
        ("  \n[ {} ]", "json"),
        ("", "shell"),
    ],
)
def test_lines(text: str, expected: Format) -> None:
    assert detect_format("<stdin>", text) == expected


@given(st.text(max_size=40), st.text(max_size=200))
def test_every_text_has_a_format(name: str, text: str) -> None:
    assert detect_format(name, text) in FORMATS
