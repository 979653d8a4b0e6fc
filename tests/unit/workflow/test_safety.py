"""The last look: nothing that corrupts data, that the loaded NCCL refuses, or that sets ranks apart is exported."""

from __future__ import annotations

import pytest

from fabricdoc.errors import InputError
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Run
from fabricdoc.workflow.safety import refuse_unsafe
from tests.unit.bench.scripted import candidates, plan_of, run_of
from tests.unit.export.presets_made import node, preset

pytestmark = pytest.mark.unit


def _run() -> Run:
    return run_of(plan_of(candidates(1)))


def _pair(first: dict[str, str], second: dict[str, str] | None = None) -> Preset:
    return preset(node("alpha", first), node("beta", first if second is None else second))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"NCCL_PROTO": "LL128"}, "forces LL128"),
        ({"NCCL_PROTO": "^LL"}, "forces LL128"),
        ({"NCCL_ALGO": "Tree"}, "without an algorithm"),
        ({"NCCL_PROTO": "Simpel"}, "no word of this variable"),
        ({"NCCL_IB_TIMEOUT": "99"}, "NCCL_IB_TIMEOUT"),
    ],
)
def test_what_is_unsafe_is_refused_with_the_reason(values: dict[str, str], word: str) -> None:
    with pytest.raises(InputError, match="can't be exported") as caught:
        refuse_unsafe(_pair(values), _run())
    assert word in caught.value.message
    assert caught.value.id == "unsafe-preset"


def test_safe_forms_pass() -> None:
    refuse_unsafe(_pair({"NCCL_ALGO": "ring;allreduce:tree", "NCCL_PROTO": "LL,Simple", "NCCL_NET": "IB"}), _run())


def test_what_must_agree_may_not_differ_and_what_may_differ_may() -> None:
    with pytest.raises(InputError, match="NCCL_PROTO must be equal on all ranks"):
        refuse_unsafe(_pair({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "Simple"}), _run())
    with pytest.raises(InputError, match="NCCL_BUFFSIZE must be equal on all ranks"):
        refuse_unsafe(_pair({"NCCL_BUFFSIZE": "4194304"}, {}), _run())
    refuse_unsafe(_pair({"NCCL_IB_HCA": "=mlx5_0"}, {"NCCL_IB_HCA": "=mlx5_1"}), _run())


def test_a_gloo_preset_is_let_pass() -> None:
    refuse_unsafe(_pair({"NCCL_PROTO": "LL128"}).model_copy(update={"backend": "gloo"}), _run())
