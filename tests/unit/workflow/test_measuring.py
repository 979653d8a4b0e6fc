"""What a run is measured and judged with: which winners are confirmed, what ends before it starts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from fabricdoc.errors import StoreError
from fabricdoc.model.verdict import CandidateVerdict, Interval, Verdict
from fabricdoc.store import RunStore
from fabricdoc.workflow.measuring import best_first, rescue_folders

pytestmark = pytest.mark.unit


def verdict(*scores: tuple[str, str, float]) -> Verdict:
    candidates = tuple(
        CandidateVerdict.model_validate(
            {"name": n, "verdict": v, "reason": "", "score": Interval(ratio=r, low=r, high=r, blocks=6)}
        )
        for n, v, r in scores
    )
    fields = {"run": "r", "objective": "mix", "profile": "p", "backend": "gloo", "choice": "base", "reason": ""}
    return Verdict.model_validate(
        {**fields, "conclusive": True, "blocks": 6, "floor": 0, "smallest_effect": 0, "candidates": candidates}
    )


def test_the_best_winners_come_first_and_losers_never() -> None:
    assert best_first(verdict(("a", "better", 1.1), ("b", "same", 2.0), ("c", "better", 1.4))) == ["c", "a"]


def test_a_refused_launch_is_kept_beside_the_store_or_in_the_users_state_and_never_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    with RunStore.open(Path("kept/runs.sqlite"), write=True) as store:
        folders = rescue_folders(store)
        assert folders == (tmp_path / "kept", tmp_path / "state/fabricdoc", Path(tempfile.gettempdir()))
        store.path.unlink()
        (tmp_path / "kept").rename(tmp_path / "gone")
        assert rescue_folders(store)[0] == tmp_path / "state/fabricdoc", "a folder that was removed is not made again"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr("fabricdoc.workflow.measuring.default_path", _no_home)
    with RunStore.open(tmp_path / "gone/runs.sqlite", write=True) as store:
        assert rescue_folders(store) == (tmp_path / "gone", Path(tempfile.gettempdir()))


def _no_home() -> Path:
    raise StoreError("no place for the run store")
