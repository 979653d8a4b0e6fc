"""Secrets in what is quoted are masked; what is none stays verbatim."""

from __future__ import annotations

import pytest

from fabricdoc.explain.masking import masked
from tests.excerpts import log, told, warn

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuv", "hf_abcdefghijklmnopqrstuv"),
        ("docker run -e HUGGING_FACE_HUB_TOKEN=abcdef123 image", "abcdef123"),
        ("vllm serve --api-key s3cret-value --port 8000", "s3cret-value"),
        ("Authorization: Bearer eyJhbGciOi.J9abc.def", "eyJhbGciOi.J9abc.def"),
        ("proxy http://user:passw0rd@host:3128/", "passw0rd"),
        ('{"password": "hunter22"}', "hunter22"),
        ("AWS_SECRET_ACCESS_KEY=abcd/efgh1234", "abcd/efgh1234"),
        ("loaded AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("openai sk-proj-abcdefghijklmnop1234", "sk-proj-abcdefghijklmnop1234"),
    ],
)
def test_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "alpha:1:2 [0] NCCL INFO NCCL_IB_HCA set to =mlx5_0:1,mlx5_1:1",
        "alpha:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eno1:10.1.0.5<0>",
        "max_tokens 4096, tokens: 12 generated",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eno1",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_no_secret_leaves_explain() -> None:
    line = warn("init.cc:1", "Cuda failure 1 'bad' HF_TOKEN=hf_abcdefghijklmnopqrstuv")
    assert "abcdefghijklmnopqrstuv" not in told({"a.log": log("alpha", line)}).model_dump_json()
