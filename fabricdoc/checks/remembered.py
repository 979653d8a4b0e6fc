"""An answer kept for as long as the document part it is about lives: many checks ask the same of the same node.

By identity, since documents are frozen and comparing them costs more than asking again. The answer must not hold the
part itself, or neither would ever be freed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

from fabricdoc.model.documents import Frozen

M = TypeVar("M", bound=Frozen)
V = TypeVar("V")


def remembered(function: Callable[[M], V]) -> Callable[[M], V]:
    """`function` of one frozen model, asked once for each object."""
    answers: dict[int, tuple[ref[M], V]] = {}

    @wraps(function)
    def answer(model: M) -> V:
        key = id(model)
        known = answers.get(key)
        if known is not None and known[0]() is model:
            return known[1]
        value = function(model)

        def forget(gone: ref[M], key: int = key) -> None:
            if (kept := answers.get(key)) is not None and kept[0] is gone:
                del answers[key]

        answers[key] = (ref(model, forget), value)
        return value

    return answer
