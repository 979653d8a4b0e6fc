"""Secrets in what is quoted are masked; what is none stays verbatim."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.masking import STARS, masked
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
        ("-e HF_TOKEN=hf_abcdef -e NCCL_NET=IB", "hf_abcdef"),
        ("--api-key sk-12345 x", "sk-12345"),
        ("AWS_SECRET_ACCESS_KEY='abc/def'", "abc/def"),
        ("password: hunter2", "hunter2"),
        ("hf_abcdefgh1234", "abcdefgh"),
        ("nvapi-abcdefghijklmnop1234", "abcdefghij"),
        ("http://user:hunter2@host/", "hunter2"),
        ("Authorization: Bearer abcdef", "abcdef"),
        ("--hf-token abcdef", "abcdef"),
        ("my_private_key_file='abcdef'", "abcdef"),
        ('"api_key": "abcdef"', "abcdef"),
        ("AccessKey=abcdef", "abcdef"),
        ("privatekey: abcdef", "abcdef"),
        ("sent header: bearer zyxwvut123", "zyxwvut123"),
        ("github_pat_abcdefghijklmnopqrstuvwxyz", "abcdefghij"),
        ("curl 'https://x/?access_token=abcd1234&page=2'", "abcd1234"),
        ("REDIS://user:hunter2@host/", "hunter2"),
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
        "vllm serve x --max-num-batched-tokens 8192 --tokenizer /m",
        "NCCL_IB_PKEY=1234",
        "NCCL_IB_PKEY_VALUE=0x8001",
        "the authors keyboard",
        "max_tokens 4096, tokens: 12 generated",
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eno1",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_no_secret_leaves_explain() -> None:
    line = warn("init.cc:1", "Cuda failure 1 'bad' HF_TOKEN=hf_abcdefghijklmnopqrstuv")
    assert "abcdefghijklmnopqrstuv" not in told({"a.log": log("alpha", line)}).model_dump_json()


def test_what_stands_behind_a_secret_stays() -> None:
    assert masked("get https://x/?access_token=abcd1234&page=2") == f"get https://x/?access_token={STARS}&page=2"
    assert masked("PASSWORD=abcd; NCCL_NET=IB") == f"PASSWORD={STARS}; NCCL_NET=IB"


@given(st.text(alphabet="tokenkey=:/@ \"'-_sAKI1", max_size=80))
def test_masking_twice_changes_nothing_more_and_never_fails(text: str) -> None:
    once = masked(text)
    assert masked(once) == once or STARS in once


@pytest.mark.parametrize("piece", ["a", "bearer ", "token=", "a://", "a:", "eyJa", "github_pat_", "--token "])
def test_time_is_in_proportion(piece: str) -> None:
    def seconds(text: str) -> float:
        began = time.process_time()
        masked(text)
        return time.process_time() - began

    small, large = (min(seconds(piece * count) for _ in range(3)) for count in (1000, 16000))
    assert large < 100 * max(small, 0.0005)
