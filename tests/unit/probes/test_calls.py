"""Which call of torch.distributed an op becomes, and what is refused with which words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.probes.calls import TorchCalls, needs_direct
from fabricdoc.probes.shapes import Shape

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.unit


class Notes:
    """Stands for torch.distributed: writes down what is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, new_names: bool) -> None:
        import torch.distributed as dist

        self.seen: list[tuple[Any, ...]] = []
        note = self._note
        for name in ("all_reduce", "broadcast", "all_to_all_single", "all_gather_into_tensor", "reduce_scatter_tensor"):
            monkeypatch.setattr(dist, name, note(name), raising=False)
        for name in ("all_gather_single", "reduce_scatter_single"):
            monkeypatch.setattr(dist, name, note(name) if new_names else None, raising=False)
        monkeypatch.setattr(dist, "isend", "isend")
        monkeypatch.setattr(dist, "irecv", "irecv")
        monkeypatch.setattr(dist, "P2POp", lambda what, tensor, peer: (what, tensor, peer))
        monkeypatch.setattr(dist, "batch_isend_irecv", self._exchange)

    def _note(self, name: str) -> Any:
        return lambda *words: self.seen.append((name, *words))

    def _exchange(self, pair: list[Any]) -> list[Any]:
        self.seen.append(("exchange", *pair))
        return [SimpleNamespace(wait=self._note("wait")) for _ in pair]


@pytest.mark.parametrize("new_names", [True, False])
def test_every_op_goes_to_its_call_and_old_names_serve_old_torch(
    monkeypatch: pytest.MonkeyPatch, new_names: bool
) -> None:
    notes = Notes(monkeypatch, new_names=new_names)
    calls = TorchCalls(0, 3)
    for op, in_place in [("all_reduce", True), ("broadcast", True), ("all_gather", True), ("reduce_scatter", False)]:
        calls.bind(Shape(op, 8, "int32", in_place), "send", "receive")()
    calls.bind(Shape("all_to_all", 8, "int32", False), "send", "receive")()
    gather, scatter = (
        ("all_gather_single", "reduce_scatter_single")
        if new_names
        else ("all_gather_into_tensor", "reduce_scatter_tensor")
    )
    assert notes.seen == [
        ("all_reduce", "receive"),
        ("broadcast", "receive", 0),
        (gather, "receive", "send"),
        (scatter, "receive", "send"),
        ("all_to_all_single", "receive", "send"),
    ]


@pytest.mark.parametrize(("rank", "after", "before"), [(0, 1, 2), (2, 0, 1)])
def test_send_and_receive_go_round_the_ring_and_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, rank: int, after: int, before: int
) -> None:
    notes = Notes(monkeypatch, new_names=True)
    TorchCalls(rank, 3).bind(Shape("send_recv", 8, "int32", False), "send", "receive")()
    assert notes.seen == [("exchange", ("isend", "send", after), ("irecv", "receive", before)), ("wait",), ("wait",)]


@pytest.mark.parametrize("op", ["all_reduce", "broadcast"])
def test_out_of_place_needs_the_library_itself_and_gloo_has_none(op: str) -> None:
    assert needs_direct(Shape(op, 8, "int32", False), "nccl")
    assert not needs_direct(Shape(op, 8, "int32", True), "gloo")
    with pytest.raises(ValueError, match=f"torch.distributed has {op} in place only, and gloo no other way"):
        needs_direct(Shape(op, 8, "int32", False), "gloo")


@pytest.mark.parametrize("op", ["all_gather", "reduce_scatter", "all_to_all", "send_recv"])
def test_torch_has_the_other_ops_out_of_place(op: str) -> None:
    assert not needs_direct(Shape(op, 8, "int32", False), "gloo")
