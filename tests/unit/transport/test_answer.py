"""The two records of an ask: what they hold, and what they never show."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from fabricdoc.transport import Answer, NodeSpec
from fabricdoc.transport.answer import Question

pytestmark = pytest.mark.unit


def test_an_answer_is_of_one_node() -> None:
    answer = Answer(NodeSpec("a", "local"), {"event": "fine"}, None, "", 0.5, 1.0)
    assert (answer.node.name, answer.message, answer.error) == ("a", {"event": "fine"}, None)
    with pytest.raises(FrozenInstanceError):
        answer.seconds = 2.0  # type: ignore[misc]


def test_a_question_needs_no_more_than_what_is_asked() -> None:
    question = Question("scan", {"do": "scan"}, 10.0)
    assert (question.inside, question.payload, question.packed, question.carrier) == ((), b"", b"", b"")


def test_a_question_shows_no_bytes() -> None:
    shown = repr(Question("scan", {"do": "scan"}, 10.0, (), b"zip-1", b"zip-2", b"zip-3"))
    assert "scan" in shown and "zip" not in shown
