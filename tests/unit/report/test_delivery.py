"""The delivery for people: the answer first, equal processes once, what is unknown with its reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabricdoc.export import judge_delivery
from fabricdoc.model.delivery import Arrival, Delivery
from fabricdoc.model.documents import Unknown
from fabricdoc.report.delivery import render_delivery
from fabricdoc.report.kinds import render
from tests.unit.export.presets_made import HEAD, WORKER, pair

pytestmark = pytest.mark.unit


def process(node: str, environ: dict[str, str] | Unknown, pid: int, library: str | None = "/x") -> Arrival:
    return Arrival(node=node, pid=pid, name="VLLM::Worker", library=library, environ=environ, files=())


def delivery(*seen: Arrival, **unseen: str) -> Delivery:
    return judge_delivery(pair(), seen, unseen)


def test_delivered_in_one_line_and_a_table_per_node(shown: Callable[..., str]) -> None:
    text = shown(render_delivery(delivery(process("spark1", HEAD, 5), process("spark2", WORKER, 6))))
    assert text.startswith("delivered: preset pair: every variable reached 2 processes on spark1, spark2\n")
    assert "spark1  pid 5  VLLM::Worker" in text
    assert text.count("delivered") == 1 + 2 * len(HEAD)


def test_what_was_left_out_by_choice_is_no_fault(shown: Callable[..., str]) -> None:
    loose = {name: value for name, value in HEAD.items() if name != "NCCL_NET"}
    text = shown(render_delivery(delivery(process("spark1", loose, 5), process("spark2", WORKER, 6))))
    assert text.startswith("delivered: preset pair: every other variable reached 2 processes")
    assert "NCCL_NET may be absent (--no-strict)" in " ".join(text.split())
    assert [line.split()[-1] for line in text.splitlines() if line.split()[:1] == ["NCCL_NET"]] == [
        "left-out", "delivered",
    ]  # fmt: skip
    assert "fix" not in text


def test_equal_processes_are_shown_once(shown: Callable[..., str]) -> None:
    text = shown(render_delivery(delivery(*(process("spark1", HEAD, pid) for pid in range(1, 12)))))
    assert "spark1  pid 1, 2, 3, 4, 5, 6, 7, 8, ...  11 processes" in text


def test_what_went_wrong_stands_with_its_fix(shown: Callable[..., str]) -> None:
    text = shown(render_delivery(delivery(process("spark1", HEAD, 5), process("spark2", {}, 6))))
    assert text.startswith("not delivered: preset pair: on spark2: ")
    assert "[env-not-delivered]" in text
    assert "fabricdoc export-env --node spark2" in text
    assert "not set" in text


def test_what_is_not_known_is_said(shown: Callable[..., str]) -> None:
    denied = process("spark1", Unknown(unknown="Permission denied"), 5, library=None)
    text = shown(render_delivery(delivery(denied, spark2="no answer")))
    assert text.startswith("could not tell")
    assert "? Permission denied" in text
    assert "it has no NCCL loaded (yet)" in text
    assert "not seen: no answer" in text


def test_the_table_of_kinds_knows_it() -> None:
    assert render(delivery(process("spark1", HEAD, 5)))
