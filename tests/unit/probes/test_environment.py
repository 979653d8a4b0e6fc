"""The allow-list of variables: what is reported, cut how, and what is never read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import environment

pytestmark = pytest.mark.unit


def test_only_allowed_variables_and_no_secrets() -> None:
    environ = {
        "NCCL_IB_HCA": "=rocep1s0f0",
        "GLOO_SOCKET_IFNAME": "a",
        "UCX_NET_DEVICES": "b",
        "TP_SOCKET_IFNAME": "c",
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_TOKEN": "x",
        "PATH": "/bin",
        "NCCL_API_KEY": "x",
        "UCX_secret_word": "x",
        "MY_NCCL_X": "x",
    }
    assert set(environment.environment(environ)) == {
        "NCCL_IB_HCA",
        "GLOO_SOCKET_IFNAME",
        "UCX_NET_DEVICES",
        "TP_SOCKET_IFNAME",
        "CUDA_VISIBLE_DEVICES",
    }


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=3000), max_size=5))
def test_any_environment_is_bounded_text(environ: dict[str, str]) -> None:
    found = environment.environment({f"NCCL_{name}": value for name, value in environ.items()})
    assert all(len(value) <= environment.MAX_VALUE for value in found.values())
    assert not any(word in name.upper() for name in found for word in ("TOKEN", "KEY", "SECRET"))
    str(found).encode()


def test_a_name_without_end_is_not_reported() -> None:
    assert environment.is_allowed("NCCL_" + "A" * 251)
    assert not environment.is_allowed("NCCL_" + "A" * 252)


def test_values_are_valid_text_of_bounded_length() -> None:
    assert environment.shown("a\udcff") == "a?"
    assert environment.shown("x" * 5000) == "x" * 1024
    assert environment.environment({"NCCL_A\udcff": "\udc80"}) == {"NCCL_A?": "?"}
