"""Lists of runs, labs and files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricdoc.report.lists import (
    profiles_payload,
    render_labs,
    render_profiles,
    render_runs,
    render_written,
    runs_payload,
)

pytestmark = pytest.mark.unit

RUN = SimpleNamespace(
    id="20260101-000000-ab12",
    created="2026-01-01T00:00:00Z",
    status="killed",
    backend="nccl",
    nodes=("alpha", "beta"),
    launches=33,
    choice=None,
)


def test_runs(shown: Any) -> None:
    rows = shown(render_runs([RUN])).splitlines()
    assert rows[0].split() == ["run", "status", "backend", "nodes", "launches", "choice"]
    assert rows[1].split("  ")[0] == "20260101-000000-ab12"
    assert rows[1].split()[1:] == ["killed", "nccl", "alpha,", "beta", "33", "-"]
    assert "no run is stored yet" in shown(render_runs([]))
    assert runs_payload([RUN])[0]["nodes"] == ("alpha", "beta")


def test_runs_with_many_nodes_fit(shown: Any) -> None:
    wide = SimpleNamespace(
        **(vars(RUN) | {"nodes": tuple(f"node-{number:04}" for number in range(64)), "choice": "c" * 50})
    )
    assert max(len(row) for row in shown(render_runs([wide])).splitlines()) <= 80


def test_labs(shown: Any) -> None:
    node = SimpleNamespace(name="alpha", target="netns:4711", ports=("enp1s0f0np0", "enp1s0f1np1"))
    rows = shown(render_labs([SimpleNamespace(name="lab", nodes=(node,))])).splitlines()
    assert rows[0] == "lab lab"
    assert rows[2].split() == ["alpha", "netns:4711", "enp1s0f0np0,", "enp1s0f1np1"]
    assert shown(render_labs([])) == "no lab is up\n"
    assert shown(render_labs([SimpleNamespace(name="lab", nodes=(node,))], removed=True)) == "removed lab lab\n"


def test_written_files_are_not_cut(shown: Any) -> None:
    path = Path("/tmp") / "fabricdoc-demo" / "alpha.env"
    assert shown(render_written([path])) == f"wrote 1 file\n  {path}\n"


def test_profiles(samples: Any, shown: Any) -> None:
    rows = [row.split() for row in shown(render_profiles([samples.profile()])).splitlines()]
    assert rows[0] == ["profile", "calls", "a", "step", "of"]
    assert rows[1][:2] == ["dense-small-tp2", "64"]
    (one,) = profiles_payload([samples.profile()])
    assert (one["name"], one["engine"], one["decode"]["all_reduce"]) == ("dense-small-tp2", "", 64)


def test_where_no_run_is_stored_the_file_that_was_looked_at_is_named(shown: Any, tmp_path: Path) -> None:
    store = tmp_path / "x.sqlite"
    assert f"no run is stored yet: there is no file {store}" in shown(render_runs([], store), 400)
    store.write_bytes(b"")
    assert f"no run is stored yet in {store}" in shown(render_runs([], store), 400)
