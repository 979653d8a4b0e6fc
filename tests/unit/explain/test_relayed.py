"""NCCL's words that an engine passes on: read as NCCL's own, each at its line, and nothing else taken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.explain.relayed import MOST, read_relayed
from fabricdoc.explain.seen import Material
from tests.excerpts import told

pytestmark = pytest.mark.unit

XLA = (
    "XlaRuntimeError: INTERNAL: ncclCommInitRankConfig(&comm, nranks, id, rank, &config) failed: invalid usage. "
    "Last NCCL warning(error): '{}'"
)
OLDER = "NCCL operation ncclAllReduce failed. Last NCCL warning(error) log entry (may be unrelated) '{}'."
NO_INTERFACE = "Bootstrap : no socket interface found"


def read(*lines: str) -> list[tuple[str, int]]:
    material = Material("a.log")
    read_relayed(material, list(lines))
    return [(seen.event, seen.spot.line) for seen in material.seen]


@pytest.mark.parametrize("form", [XLA, OLDER])
def test_a_relayed_warning_is_an_event_at_its_line(form: str) -> None:
    assert ("boot.none", 2) in read("step 1", form.format(NO_INTERFACE))


def test_what_is_quoted_elsewhere_is_not_taken() -> None:
    assert read(f"see the FAQ: '{NO_INTERFACE}'", "Last NCCL warning(error) log entry is empty") == []


def test_a_flood_of_them_is_bounded() -> None:
    assert len({line for _event, line in read(*[XLA.format(NO_INTERFACE)] * (MOST * 3))}) == MOST


def test_a_relayed_warning_decides() -> None:
    files = {"a.log": XLA.format(NO_INTERFACE) + "\n", "task.env": "NCCL_SOCKET_IFNAME==eth7\n"}
    document = told(files)
    assert document.verdict == "socket-ifname-not-found"
    assert document.findings[0].evidence[0].text in files["a.log"]


def test_a_relayed_warning_of_another_kind_is_another_cause() -> None:
    line = XLA.format("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3000")
    assert told({"a.log": line + "\n"}).verdict == "ranks-share-one-gpu"


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read(text, XLA.format(text))
