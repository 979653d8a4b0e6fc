"""The whole way of nccl-tests' output: imported by the command, listed, and compared with itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.cli.program import main
from fabricdoc.store import RunStore
from fabricdoc.workflow import import_nccl_tests

pytestmark = pytest.mark.unit

TEXT = """\
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 20 iters: 100 agg iters: 1 graph: 1
#  Rank  0 Group  0 Pid   4711 on      alpha device  0 [0000:04:00] NVIDIA H200
        1024           512  bfloat16     sum      -1    {time}    0.02    0.02     N/A    {time}    0.02    0.02     N/A
"""


def _files(folder: Path, times: list[float]) -> list[Path]:
    paths = [folder / f"{number}.txt" for number in range(len(times))]
    for path, time in zip(paths, times, strict=True):
        path.write_text(TEXT.format(time=time))
    return paths


def test_an_imported_run_has_an_id_like_any_other_and_is_kept(tmp_path: Path) -> None:
    with RunStore.open(tmp_path / "runs.sqlite", write=True) as store:
        run = import_nccl_tests(store, _files(tmp_path, [50.0, 51.0]))
        assert store.load() == run
    assert len(run.id) == len("20261130-010203-abcd")
    assert [launch.cells[0].median_us for launch in run.launches] == [50.0, 51.0]


def test_the_command_imports_two_runs_and_compares_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(tmp_path / "runs.sqlite")]
    ids = []
    for name, times in (("slow", [50.0, 51.0, 49.5, 50.5, 50.2, 49.9]), ("fast", [40.0, 41.0, 39.5, 40.5, 40.2, 39.9])):
        (folder := tmp_path / name).mkdir()
        assert main(["runs", "import", *map(str, _files(folder, times)), "--json", *store]) == 0
        ids.append(json.loads(capsys.readouterr().out)["id"])
    assert main(["runs", "compare", *ids, "--json", *store]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["paired"]) == ("fabricdoc/comparison/1", False)
    assert {cell["verdict"] for cell in document["cells"]} == {"better"}
    assert main(["runs", "compare", *ids, *store]) == 0
    out = capsys.readouterr().out
    assert f"{ids[1]} against {ids[0]}" in out
    assert "2 faster" in out


def test_what_can_not_be_imported_or_compared_is_said_with_its_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "runs.sqlite")]
    (tmp_path / "x.txt").write_text("hello")
    assert main(["runs", "import", str(tmp_path / "x.txt"), *store]) == 2
    assert "no output of nccl-tests" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "runs.sqlite").exists() or RunStore.open(tmp_path / "runs.sqlite").list_runs() == ()
    assert main(["runs", "compare", "a", "b", *store]) == 2
